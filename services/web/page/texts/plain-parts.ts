/** The compiled form of a text whose values are inserted as they are: `Hello {name}` is `['Hello ', ['name']]`. */
export const plainParts = (text: string): (string | [name: string])[] =>
  text
    .split(/\{(\w+)\}/)
    .map((part, index): string | [string] => (index % 2 === 1 ? [part] : part))
    .filter((part) => part !== '')

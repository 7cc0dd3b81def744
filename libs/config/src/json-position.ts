export interface Position {
  line: number
  column: number
}

/**
 * Where a text stops being JSON, counted from 1: the first character that cannot stand there, the beginning of a string that is
 * malformed, or the end of a text that ends too early. What Node says of it has no position in some cases, and quotes the text.
 */
export function whereJsonBreaks(text: string): Position {
  const before = text.slice(0, offsetOfFault(text))
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') }
}

function offsetOfFault(text: string): number {
  let at = 0
  const take = (form: RegExp): boolean => {
    form.lastIndex = at
    if (!form.test(text)) return false
    at = form.lastIndex
    return true
  }
  const space = () => take(/[ \t\r\n]*/y)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in strings
  const string = () => take(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y)
  const member = () => string() && space() && take(/:/y) && value()

  function value(): boolean {
    space()
    if (take(/\{/y)) return list(member, /\}/y)
    if (take(/\[/y)) return list(value, /\]/y)
    return string() || take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y)
  }

  function list(item: () => boolean, end: RegExp): boolean {
    space()
    if (take(end)) return true
    do {
      space()
      if (!item()) return false
      space()
    } while (take(/,/y))
    return take(end)
  }

  if (value()) space()
  return at
}

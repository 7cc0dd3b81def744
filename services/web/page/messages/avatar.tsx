/** The first letter of a name on a colour that follows from the id. */
export const Avatar = ({ name, id }: { name: string; id: string }) => (
  <span class="avatar" data-hue={hueOf(id)} aria-hidden="true">
    {[...name][0]?.toUpperCase()}
  </span>
)

function hueOf(id: string): number {
  let sum = 0
  for (const character of id) sum = (sum * 31 + character.codePointAt(0)!) % 997
  return sum % 6
}

import { shownPerson } from '../app/shown-person.ts'
import type { Workspace } from '../app/workspace.ts'

/**
 * A click on the avatar of a message opens the card of its author, and a click on a mention the card of the mentioned person. They are no
 * buttons, because each would be one more stop of the Tab key: with a keyboard, the name of an author and the list of members open the cards.
 */
export function openPeople(workspace: Workspace): () => void {
  const onClick = ({ target }: MouseEvent) => {
    const element = target as Element
    const avatar = element.closest('.message > .avatar')
    avatar?.closest('article')?.querySelector<HTMLElement>('.name-button')?.click()
    const mention = element.closest<HTMLElement>('.mention[data-person]')
    const user = mention && workspace.user(mention.dataset.person!)
    // A mention in the text of a link is a part of the link.
    if (user && !mention.closest('a')) shownPerson.value = user
  }
  document.addEventListener('click', onClick)
  return () => document.removeEventListener('click', onClick)
}

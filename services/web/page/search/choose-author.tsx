import { searchAddress } from '../app/address.ts'
import type { NamedPerson } from '../app/find-person.ts'
import { hintOf } from '../app/person-hint.ts'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { t } from '../texts/texts.ts'
import { formatQuery, parseQuery } from './search-query.ts'

/** With more people, a longer part of the name is needed. */
const maxShown = 20

interface ChooseAuthorProps {
  workspace: Workspace
  query: string
  people: readonly NamedPerson[]
}

/** Links to the same search for the messages of one of these people. */
export function ChooseAuthor({ workspace, query, people }: ChooseAuthorProps) {
  const { words, filters } = parseQuery(query)
  return (
    <>
      <ul class="rows">
        {people.slice(0, maxShown).map((person) => (
          <li key={person.id} class="member-row">
            <Avatar workspace={workspace} name={person.userName} id={person.id} size="small" />
            <a
              class="name"
              dir="auto"
              href={searchAddress(formatQuery({ words, filters: { ...filters, from: nameInSearch(person) } }))}
            >
              {person.userName}
            </a>
            <span class="quiet" dir="auto">
              {hintOf(person)}
            </span>
          </li>
        ))}
      </ul>
      {people.length > maxShown && <p>{t('There are more people. Write more of the name.')}</p>}
    </>
  )
}

/** A search cannot have a name with quotes, because they enclose it. */
const nameInSearch = ({ userName, email }: NamedPerson) => (/["“”„]/.test(userName) ? email : userName)

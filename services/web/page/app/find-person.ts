import { type Client, RequestFailed } from '@parley/client'
import { t } from '../texts/texts.ts'
import { findNamed } from './names.ts'
import type { HintedPerson } from './person-hint.ts'

/** A person who was found by name. `email` is empty if it is not known. */
export interface NamedPerson extends HintedPerson {
  id: string
  userName: string
}

/** A part of a name that several people have. */
export class SeveralPeople extends RequestFailed {
  readonly people: readonly NamedPerson[]

  constructor(people: readonly NamedPerson[]) {
    super(400, t('Several people match this name'))
    this.people = people
  }
}

/**
 * The person with this name or mail address. A part of the name is enough when only one person has it. `findFormer` finds people by name
 * who are deactivated or removed. It is called if nobody else has the whole name.
 * @throws RequestFailed with a sentence when there is none. @throws SeveralPeople
 */
export async function findPerson(
  client: Client,
  name: string,
  findFormer: () => Promise<readonly NamedPerson[]>,
): Promise<NamedPerson> {
  const wanted = name.toLowerCase()
  const { users } = await client.request('GET /users', { query: { q: name, limit: 200 } })
  const withWholeName = (people: readonly NamedPerson[]) =>
    people.find(({ email }) => email === wanted) ?? findNamed(people, name, ({ userName }) => userName)
  const named = withWholeName(users)
  if (named) return named
  const active = new Set<string>(users.map(({ id }) => id))
  const former = (await findFormer()).filter(({ id }) => !active.has(id))
  const namedFormer = withWholeName(former)
  if (namedFormer) return namedFormer
  const [found, ...others] = [...users, ...former]
  if (!found) throw new RequestFailed(400, t('Nobody is called {name}', { name }))
  if (others.length > 0) throw new SeveralPeople([found, ...others])
  return found
}

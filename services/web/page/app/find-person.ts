import { type Client, RequestFailed } from '@parley/client'
import type { User } from '@parley/contract'
import { t } from '../texts/texts.ts'
import { findNamed } from './names.ts'

/** A part of a name that several people have. */
export class SeveralPeople extends RequestFailed {
  readonly people: readonly User[]

  constructor(people: readonly User[]) {
    super(400, t('Several people match this name'))
    this.people = people
  }
}

/**
 * The person with this name or mail address. A part of the name is enough when only one person has it.
 * @throws RequestFailed with a sentence when there is none. @throws SeveralPeople
 */
export async function findPerson(client: Client, name: string): Promise<User> {
  const { users } = await client.request('GET /users', { query: { q: name, limit: 200 } })
  const wanted = name.toLowerCase()
  const named = users.find(({ email }) => email === wanted) ?? findNamed(users, name, ({ userName }) => userName)
  const found = named ?? users[0]
  if (!found) throw new RequestFailed(400, t('Nobody is called {name}', { name }))
  if (!named && users.length > 1) throw new SeveralPeople(users)
  return found
}

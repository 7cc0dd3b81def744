import { type Client, RequestFailed } from '@parley/client'
import { t } from '../texts/texts.ts'
import { findNamed } from './names.ts'

/**
 * The id of the person with this name or mail address. A part of the name is enough when only one person has it.
 * @throws RequestFailed with a sentence when there is none.
 */
export async function findPerson(client: Client, name: string): Promise<string> {
  const { users } = await client.request('GET /users', { query: { q: name, limit: 50 } })
  const wanted = name.toLowerCase()
  const named = users.find(({ email }) => email === wanted) ?? findNamed(users, name, ({ userName }) => userName)
  const found = named ?? (users.length === 1 ? users[0] : undefined)
  if (!found) throw new RequestFailed(400, t('Nobody is called {name}', { name }))
  return found.id
}

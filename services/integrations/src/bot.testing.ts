import { Person } from '@parley/test'
import type { TestEnvironment } from '@parley/test/test-environment'

/** Creates a bot. It signs in with an API token, which is valid for longer than a session. */
export async function createsBot({ people, baseUrl }: TestEnvironment, userName: string): Promise<Person> {
  const { body } = await people.ada.post('/bots', { userName })
  const token = await people.ada.post(`/bots/${body.bot.id}/tokens`, { name: 'a program', scopes: ['read', 'write'] })
  return new Person(baseUrl, body.bot, token.body.token)
}

import type { Channel } from '@parley/contract'
import { Person } from './person.ts'

/** ada is an admin. ann wrote most messages and created `secret`, bob is a member of it, and cat is not. */
export interface People {
  ada: Person
  ann: Person
  bob: Person
  cat: Person
  nobody: Person
}

/** The people and channels at the start of a test. */
export interface Cast {
  people: People
  /** `general` and `open` are public, `secret` is private to ann and bob. */
  channel: { general: Channel; open: Channel; secret: Channel }
}

/** Signs these people in to a new server, whose initial admin is ada@example.com, and creates their channels. */
export async function signInCast(
  baseUrl: string,
  signIn = (email: string) => Person.signIn(baseUrl, email),
): Promise<Cast> {
  const [ada, ann, bob, cat] = await Promise.all(
    ['ada', 'ann', 'bob', 'cat'].map((name) => signIn(`${name}@example.com`)),
  )
  const people = { ada: ada!, ann: ann!, bob: bob!, cat: cat!, nobody: Person.nobody(baseUrl) }
  const { body } = await people.ann.get('/channels')
  const general = body.channels.find(({ name }: Channel) => name === 'General')
  const open = await people.ann.creates({ name: 'open' })
  const secret = await people.ann.creates({ name: 'secret', isPrivate: true, members: [people.bob.id] })
  return { people, channel: { general, open, secret } }
}

import type { Channel } from '@parley/contract'
import { Person } from './person.ts'

/** ada is admin; ann wrote most things and made `secret`, bob is a member of it, cat an outsider. */
export interface People {
  ada: Person
  ann: Person
  bob: Person
  cat: Person
  nobody: Person
}

/** The people whom tests start with, and their channels. */
export interface Cast {
  people: People
  /** `general` and `open` are public, `secret` is private to ann and bob. */
  channel: { general: Channel; open: Channel; secret: Channel }
}

/** Signs everybody in to a new server, whose initial admin is ada@example.com, and creates their channels. */
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

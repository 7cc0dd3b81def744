import type { SyncEngine } from '@parley/client'
import type { User } from '@parley/contract'
import { ignoreFailure } from '../ui/retries.ts'
import type { EngineReads } from './engine-reads.ts'

/** The signed-in person, and the people that were asked for, because a server may have very many. */
export function createPeople(engine: SyncEngine, myId: string, { read, keep }: EngineReads) {
  const me = keep('me', engine.me)
  const user = (id: string): User | undefined => read(`user:${id}`, () => engine.user(id))
  return {
    me,
    /** The loaded people, in no particular order. */
    users: keep('users', engine.users),
    /** One of the loaded people. */
    user,
    /**
     * Loads a person who is shown, after the data that a first view needs. One request loads many people. Resolves to whether the server
     * has responded.
     */
    loadUser: (id: string): Promise<boolean> =>
      engine.ready
        .then(() => engine.loadUsers([id]))
        .then(
          () => true,
          (error) => {
            ignoreFailure(error)
            return false
          },
        ),
    /** Resolves once the signed-in person is one of `users`. */
    loadMe: () => engine.ready.then(() => engine.loadUsers([myId])),
    /** The name of the signed-in person, who is known without loading people, or of a loaded person. */
    userName: (id: string, otherwise: string) =>
      (id === myId && me.value.userName) || (user(id)?.userName ?? otherwise),
    /** Nobody who is deactivated is online. The server says so a little later. */
    presence: (id: string) =>
      (user(id)?.isActive !== false && read(`presence:${id}`, () => engine.presenceOf(id))?.status) || 'offline',
    /** Keeps the presence of these people up to date until the returned function is called. */
    showPresence: engine.showPresence,
    /** Whether these mentions include the signed-in person. */
    mentionsMe: engine.mentionsMe,
  }
}

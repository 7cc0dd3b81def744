import type { EventPayload, Presence, User } from '@parley/contract'
import type { Changes } from '../store/changes.ts'
import { isSame } from '../store/json.ts'
import { removeOthers } from '../store/remove-others.ts'
import type { Stored } from '../store/store.ts'

/** Returns the person with their current name, if it is known. Messages and conversations have the name at the time of their fetch. */
export type WithCurrentName = <Person extends { id: string; userName: string }>(person: Person) => Person

interface PeopleOptions {
  scope: 'all' | 'joined'
  changes: Changes
  /** Called when a person has a new name. */
  onRenamed: (id: string, userName: string) => void
  /** Called when a person was removed from the server. */
  onRemoved: (id: string) => void
}

/** People, their names and their presence: all people, or with `joined` only those that were asked for. */
export function createPeople({ scope, changes, onRenamed, onRemoved }: PeopleOptions) {
  const users = new Map<string, User>()
  let userList: readonly User[] | undefined
  /** The names of people by id, also of removed people, because their messages show the last name. */
  const names = new Map<string, string>()
  /** Separate from `users`, because the presence of a person may come before or after the person. */
  const presence = new Map<string, Presence>()

  const withCurrentName: WithCurrentName = (person) => {
    const userName = names.get(person.id)
    return userName === undefined || userName === person.userName ? person : { ...person, userName }
  }

  function setUser(user: User) {
    if (isSame(users.get(user.id), user)) return
    users.set(user.id, user)
    rename(user.id, user.userName)
    touchUser(user.id)
  }

  function touchUser(id: string) {
    userList = undefined
    changes.touch('users')
    changes.touch(`user:${id}`)
    changes.markUnsaved('people', id)
  }

  function rename(id: string, userName: string) {
    if (names.get(id) === userName) return
    names.set(id, userName)
    onRenamed(id, userName)
  }

  function removeUser(id: string) {
    if (users.delete(id)) touchUser(id)
    presence.delete(id)
    onRemoved(id)
  }

  function setPresenceOf(shown: Presence) {
    if (isSame(presence.get(shown.userId), shown)) return
    presence.set(shown.userId, shown)
    changes.touch('presence')
    changes.touch(`presence:${shown.userId}`)
  }

  function presenceOf(id: string): Presence | undefined {
    const user = users.get(id)
    return presence.get(id) ?? (user && { userId: id, status: 'offline', lastSeen: user.createdAt })
  }

  return {
    withCurrentName,
    setUser,
    removeUser,
    setPresenceOf,

    /** Changes a known person. Of an unknown person only the name is kept. */
    changeUser({ id, ...changed }: EventPayload<'UPDATE_USER'>) {
      const user = users.get(id)
      if (user) return setUser({ ...user, ...changed })
      rename(id, changed.userName)
      changes.markUnsaved('people', id)
    },
    setUsers(all: readonly User[]) {
      removeOthers(users.keys(), all, removeUser)
      for (const user of all) setUser(user)
    },
    setPresence(all: readonly Presence[]) {
      const listing = all.map(({ userId }) => ({ id: userId }))
      removeOthers(presence.keys(), listing, (id) => presence.delete(id))
      for (const each of all) setPresenceOf(each)
    },
    /** Forgets all people after events were missed, because their data may be outdated. */
    forgetPeople() {
      names.clear()
      for (const id of users.keys()) changes.touch(`user:${id}`)
      users.clear()
      userList = undefined
    },

    /** A person, or the name of somebody of whom only the name is known. */
    toStore: (id: string): unknown => users.get(id) ?? (names.has(id) ? { id, userName: names.get(id) } : undefined),
    storedIds: () => ({ people: names.keys() }),
    restore(records: Stored['records']) {
      const people = [...records.people.values()] as User[]
      const isUser = ({ createdAt }: User) => createdAt !== undefined
      // With `joined`, this tab may have asked for other people than the one that has stored them.
      if (scope === 'all') removeOthers(users.keys(), people.filter(isUser), removeUser)
      for (const person of people) {
        if (isUser(person)) setUser(person)
        else rename(person.id, person.userName)
      }
    },

    user: (id: string) => users.get(id),
    users: () => {
      userList ??= [...users.values()]
      return userList
    },
    presence: () => [...users.keys()].map((id) => presenceOf(id)!),
    presenceOf,
  }
}

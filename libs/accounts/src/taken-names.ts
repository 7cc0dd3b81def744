import { randomInt } from 'node:crypto'
import { invalid } from '@parley/contract'
import { lockByName, looksLike, nameSkeleton, type Reader, type Transaction, tryLockByName } from '@parley/database'
import { automaticNames, nameKey } from './names.ts'

/**
 * Reserves a name of a person or a handle of a group until the transaction ends. People and groups share one set of
 * names. It waits for transactions that reserve a name that looks like it. `ownId` is the person or group that may have
 * the name already.
 * @throws ApiError 400 when another person or group has the name, or one that looks the same.
 */
export async function claimName(trx: Transaction, name: string, ownId: string): Promise<void> {
  await lockByName(trx, lockNameOf(name))
  const taken = await listTaken(trx, [nameKey(name)])
  if (taken.some(({ id }) => id !== ownId)) throw invalid('This name is already in use', 'duplicate')
  if ((await findAlike(trx, [name])).some(({ id }) => id !== ownId)) {
    throw invalid('Somebody else has a name that looks the same', 'duplicate')
  }
}

const triedAtOnce = 32

/**
 * Reserves a free name for a person, made from `base`: with the lowest free number among the first 32, else with a
 * random number in a growing range. With a thousand people called `info`, the next one needs only a few more
 * statements, not one for every 32 of them.
 */
export async function claimFreeName(trx: Transaction, base: string): Promise<string> {
  for (let most = triedAtOnce; ; most *= 16) {
    const from = most === triedAtOnce ? 1 : randomInt(triedAtOnce + 1, most)
    const names = automaticNames(base, from, triedAtOnce)
    const taken = new Set((await listTaken(trx, names.map(nameKey))).map(({ key }) => key))
    const alike = await findAlike(trx, names)
    const free = names.filter(
      (name) => !taken.has(nameKey(name)) && !alike.some((other) => looksLike(other.name, name)),
    )
    for (const name of free) if (await tryToClaim(trx, name)) return name
  }
}

/**
 * Reserves all names that look like this one until the transaction ends. Returns false when another transaction has
 * reserved such a name, or somebody has it. It does not wait, because the next number can be used instead.
 */
async function tryToClaim(trx: Transaction, name: string): Promise<boolean> {
  if (!(await tryLockByName(trx, lockNameOf(name)))) return false
  return (await findAlike(trx, [name])).length === 0 && (await listTaken(trx, [nameKey(name)])).length === 0
}

/** The name of the lock, the same for all names that look alike. A collision with another name does no harm. */
const lockNameOf = (name: string) => `parley name ${nameSkeleton(name)}`

/** The people and groups that have one of these names. Served by users_live_name and groups_live_handle. */
const listTaken = (db: Reader, keys: readonly string[]): Promise<{ id: string; key: string }[]> =>
  db
    .selectFrom('users')
    .select(['id', 'userNameKey as key'])
    .where('userNameKey', 'in', keys)
    .where('removedAt', 'is', null)
    .unionAll(
      db
        .selectFrom('groups')
        .select(['id', 'handleKey as key'])
        .where('handleKey', 'in', keys)
        .where('deletedAt', 'is', null),
    )
    .execute()

/**
 * Live people and groups whose names differ from one of these only by look-alike letters of another script. Names
 * without a skeleton were stored by the previous version during an upgrade. Served by users_live_skeleton and
 * groups_live_skeleton.
 */
async function findAlike(db: Reader, names: readonly string[]): Promise<{ id: string; name: string }[]> {
  const people = db.selectFrom('users').select(['id', 'userName as name']).where('removedAt', 'is', null)
  const groups = db.selectFrom('groups').select(['id', 'handle as name']).where('deletedAt', 'is', null)
  const skeletons = new Set(names.map(nameSkeleton))
  const rows = await people
    .where('userNameSkeleton', 'in', [...skeletons])
    .unionAll(people.where('userNameSkeleton', 'is', null))
    .unionAll(groups.where('handleSkeleton', 'in', [...skeletons]))
    .execute()
  return rows
    .filter((row) => skeletons.has(nameSkeleton(row.name)))
    .filter((row) => names.some((name) => looksLike(row.name, name)))
}

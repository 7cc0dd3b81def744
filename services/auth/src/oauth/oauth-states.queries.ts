import type { Database, OauthStates } from '@parley/database'
import type { Selectable } from 'kysely'

export type OauthState = Selectable<OauthStates>

const clearedAtOnce = 100

/** Stores a sign-in under way, and clears a few that were given up: nothing else does. */
export async function insertState(db: Database, state: OauthState, now: number): Promise<void> {
  await db.insertInto('oauthStates').values(state).execute()
  await db
    .deleteFrom('oauthStates')
    .where('stateHash', 'in', (given) =>
      given
        .selectFrom('oauthStates')
        .select('stateHash')
        .where('expiresAt', '<=', now)
        .orderBy('expiresAt')
        .limit(clearedAtOnce)
        .forUpdate()
        .skipLocked(),
    )
    .execute()
}

/** Takes a sign-in out of the store: of any number of takers at once one gets it, whoever they are. */
export const takeState = (db: Database, stateHash: Buffer): Promise<OauthState | undefined> =>
  db.deleteFrom('oauthStates').where('stateHash', '=', stateHash).returningAll().executeTakeFirst()

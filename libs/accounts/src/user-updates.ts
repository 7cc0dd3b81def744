import { audienceOfPerson } from '@parley/access'
import { record, type Transaction, userUpdatePayload } from '@parley/database'

/**
 * Records UPDATE_USER for everybody who sees the person, after a change that ends no session and changes no rights.
 * @param user the person after the change.
 */
export async function recordUserUpdate(trx: Transaction, user: Parameters<typeof userUpdatePayload>[0]): Promise<void> {
  await record(trx, {
    type: 'UPDATE_USER',
    payload: userUpdatePayload(user),
    routing: await audienceOfPerson(trx, user.id),
  })
}

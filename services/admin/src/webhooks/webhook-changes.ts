import { findChannel } from '@parley/access'
import { lockCallerAsAdmin, type RequestContext, readName, recordWebhookOwnership } from '@parley/accounts'
import { audienceOf, invalid, type ListedWebhook, limits, notFound } from '@parley/contract'
import {
  type AuditAction,
  audit,
  claimOf,
  type Database,
  once,
  type ResponseForm,
  record,
  type Transaction,
  uuidv7,
} from '@parley/database'
import { createWebhookToken, type Seals } from '@parley/identity'
import type { Deps } from '@parley/service'
import { findWebhook, insertWebhook, markWebhookDeleted, updateWebhook } from './webhooks.queries.ts'

/**
 * Creates a webhook and records NEW_WEBHOOK for the channel's audience. The token is only in the response. The response that
 * is stored for an `Idempotency-Key` is encrypted.
 * @throws ApiError 400 when the name is refused, or there is no such channel; as `once` for the key.
 */
export function createWebhook(
  { db, seals, config }: Pick<Deps, 'db' | 'seals' | 'config'>,
  context: RequestContext,
  requested: { name: string; channelId: string },
  key?: string,
): Promise<CreatedWebhook> {
  const { caller, now } = context
  const name = readName(requested.name, 'name', limits.webhookName)
  const claim = claimOf(caller.userId, key, 'POST /webhooks', name, requested.channelId)

  return once(db, { claim, now, form: sealed(seals) }, create)

  async function create(trx: Transaction): Promise<CreatedWebhook> {
    await lockCallerAsAdmin(trx, context)
    const channel = await findChannel(trx, requested.channelId, { lock: true })
    if (!channel || channel.kind === 'direct') throw invalid('channelId must be the id of a channel')

    const webhook = { id: uuidv7(), name, channelId: channel.id, createdBy: caller.userId, createdAt: now }
    const { stored, shown } = makeSecrets(config, webhook.id)
    await insertWebhook(trx, { ...webhook, ...stored })
    await record(trx, {
      type: 'NEW_WEBHOOK',
      payload: { id: webhook.id, name, channelId: channel.id },
      routing: audienceOf(channel),
    })
    await auditChange(trx, context, 'webhook.create', webhook)
    return { ...webhook, ...shown, lastPostedAt: null, isOrphaned: false }
  }
}

type CreatedWebhook = ListedWebhook & { token: string; url: string }

/**
 * Replaces the address of a webhook. The new address is only in the response. The old one stops working.
 * @throws ApiError 404 when there is no such webhook.
 */
export function renewAddress(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  context: RequestContext,
  webhookId: string,
): Promise<string> {
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    const webhook = await findWebhook(trx, webhookId)
    if (!webhook) throw notFound('webhook')
    const { stored, shown } = makeSecrets(config, webhook.id)
    if (!(await updateWebhook(trx, webhook.id, { secretHash: stored.secretHash }))) throw notFound('webhook')
    await auditChange(trx, context, 'webhook.url', webhook)
    return shown.url
  })
}

/**
 * Deletes a webhook and records DELETE_WEBHOOK for the channel's audience. @throws ApiError 404 when there is no such
 * webhook.
 */
export function deleteWebhook(db: Database, context: RequestContext, webhookId: string): Promise<void> {
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    const webhook = await findWebhook(trx, webhookId)
    const channel = webhook && (await findChannel(trx, webhook.channelId, { lock: true }))
    if (!channel || !(await markWebhookDeleted(trx, webhook.id, context.now))) throw notFound('webhook')

    await record(trx, {
      type: 'DELETE_WEBHOOK',
      payload: { id: webhook.id, channelId: channel.id },
      routing: audienceOf(channel),
    })
    await auditChange(trx, context, 'webhook.delete', webhook)
  })
}

/**
 * Makes the caller responsible for an orphaned webhook, and records UPDATE_WEBHOOK for the admins. With `renewToken` it
 * gets a new token and a new address, which are only in the response, because the person who left may know the old ones.
 * @throws ApiError 404 when there is no such webhook, 400 when an admin is already responsible for it.
 */
export function takeOverWebhook(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  context: RequestContext,
  webhookId: string,
  { renewToken }: { renewToken: boolean },
): Promise<ListedWebhook & { token?: string; url?: string }> {
  return db.transaction().execute(async (trx) => {
    await lockCallerAsAdmin(trx, context)
    const webhook = await findWebhook(trx, webhookId)
    // Of several admins who try it at the same time only one succeeds, because of the channel's lock.
    const channel = webhook && (await findChannel(trx, webhook.channelId, { lock: true }))
    const current = channel && (await findWebhook(trx, webhookId))
    if (!current) throw notFound('webhook')
    if (!current.isOrphaned) throw invalid('An admin is already responsible for this webhook')

    const owner = { createdBy: context.caller.userId }
    const secrets = renewToken ? makeSecrets(config, current.id) : undefined
    if (!(await updateWebhook(trx, current.id, { ...owner, ...secrets?.stored }))) throw notFound('webhook')
    const taken = { ...current, ...owner, isOrphaned: false }
    await recordWebhookOwnership(trx, [taken], { isOrphaned: false })
    await auditChange(trx, context, 'webhook.take-over', current, { from: current.createdBy, renewToken })
    return { ...taken, ...secrets?.shown }
  })
}

/**
 * A new token and a new address of a webhook. Everybody who knows one of them can post. Only their hashes are `stored`, so they can be
 * `shown` only once.
 */
function makeSecrets({ auth }: Pick<Deps['config'], 'auth'>, id: string) {
  const { token, tokenHash } = createWebhookToken()
  const address = createWebhookToken()
  return {
    stored: { tokenHash, secretHash: address.tokenHash },
    shown: { token, url: `${auth.appUrl}/hooks/${id}/${address.token}` },
  }
}

const auditChange = (
  trx: Transaction,
  { caller, ip }: RequestContext,
  action: AuditAction,
  { id, name, channelId }: Pick<ListedWebhook, 'id' | 'name' | 'channelId'>,
  details: object = {},
) =>
  audit(trx, {
    action,
    actorId: caller.userId,
    targetType: 'webhook',
    targetId: id,
    metadata: { name, channelId, ...details },
    ip,
  })

const sealed = (seals: Seals): ResponseForm<CreatedWebhook> => ({
  write: (created) => seals.seal(JSON.stringify(created)),
  read(stored) {
    const text = seals.open(stored)
    if (text === undefined) throw invalid('The webhook of this Idempotency-Key cannot be shown any more: use a new key')
    return JSON.parse(text)
  },
})

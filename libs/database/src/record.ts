import type { EventPayload, EventType, JobData, JobName, Routing } from '@parley/contract'
import { currentTraceparent } from '@parley/telemetry'
import { sql } from 'kysely'
import type { Transaction } from './connect.ts'
import { uuidv7 } from './uuidv7.ts'

export interface RecordedEvent<T extends EventType = EventType> {
  type: T
  payload: EventPayload<T>
  routing: Routing
}

/**
 * Records an event in the outbox, in the transaction of its change: the event is sent if and only if the change is
 * committed. Call it after the change, while the transaction holds the locks of the change, so that events have the
 * order of commits. The row also stores the active trace.
 */
export async function record<T extends EventType>(trx: Transaction, event: RecordedEvent<T>): Promise<void> {
  await insertOutbox(trx, event.routing, JSON.stringify({ type: event.type, payload: event.payload }))
}

/** Records several events in one statement, as `record` does. */
export async function recordAll(trx: Transaction, events: readonly RecordedEvent[]): Promise<void> {
  if (events.length === 0) return
  const routings = events.map(({ routing }) => JSON.stringify(routing))
  const texts = events.map(({ type, payload }) => JSON.stringify({ type, payload }))
  await sql`
    insert into outbox (id, slot, routing, event, trace, created_at)
    select nextval('outbox_ids'), slot, recorded.routing, recorded.event, ${currentTraceparent()}, now_ms()
    from outbox_ring, unnest(${routings}::text[], ${texts}::text[]) recorded(routing, event)
    where pg_current_xact_id() is not null`.execute(trx)
}

/** Records an instruction that only the realtime nodes get (ended sessions, changed rights). Clients receive nothing. */
export async function recordControl(trx: Transaction, routing: Routing): Promise<void> {
  await insertOutbox(trx, routing, null)
}

/**
 * The statement takes the outbox id after the transaction has its number (`pg_current_xact_id` in the one-time filter). The
 * relay's low-water mark relies on this order (docs/decisions/0005-the-low-water-mark.md).
 */
async function insertOutbox(trx: Transaction, routing: Routing, event: string | null) {
  await sql`
    insert into outbox (id, slot, routing, event, trace, created_at)
    select nextval('outbox_ids'), slot, ${JSON.stringify(routing)}, ${event}, ${currentTraceparent()}, now_ms()
    from outbox_ring where pg_current_xact_id() is not null`.execute(trx)
}

/** Records a job in the transaction of its cause and returns its id. Workers run it at least once. */
export async function recordJob<N extends JobName>(trx: Transaction, name: N, data: JobData<N>): Promise<string> {
  const id = uuidv7()
  await sql`
    insert into jobs (id, name, data, trace, created_at)
    values (${id}, ${name}, ${JSON.stringify(data)}, ${currentTraceparent()}, now_ms())`.execute(trx)
  return id
}

export interface AuditEntry {
  action: AuditAction
  actorId: string
  targetType:
    | 'user'
    | 'group'
    | 'channel'
    | 'message'
    | 'webhook'
    | 'session'
    | 'network'
    | 'server'
    | 'export'
    | 'token'
    | 'scim-client'
    | 'subscription'
    | 'command'
  targetId: string
  metadata?: Record<string, unknown>
  ip?: string | null
}

export type AuditAction =
  | 'server.settings.update'
  | 'user.create'
  | 'user.remove'
  | 'user.exit'
  | 'user.role.update'
  | 'user.name.update'
  | 'user.profile.update'
  | 'user.email.update'
  | 'user.activate'
  | 'user.deactivate'
  | 'user.password.reset'
  | 'password.update'
  | 'login.success'
  | 'login.failure'
  | 'login.lockout'
  | 'mfa.totp.create'
  | 'mfa.totp.delete'
  | 'mfa.passkey.create'
  | 'mfa.passkey.delete'
  | 'mfa.recovery.use'
  | 'mfa.reset'
  | 'session.end'
  | 'session.reuse'
  | 'group.create'
  | 'group.update'
  | 'group.delete'
  | 'group.members.update'
  | 'channel.create'
  | 'channel.update'
  | 'channel.delete'
  | 'channel.leave'
  | 'message.delete'
  | 'subscription.create'
  | 'subscription.update'
  | 'subscription.replay'
  | 'subscription.delete'
  | 'subscription.pause'
  | 'webhook.create'
  | 'webhook.delete'
  | 'webhook.orphan'
  | 'webhook.take-over'
  | 'webhook.url'
  | 'export.create'
  | 'token.create'
  | 'scim.client.create'
  | 'scim.client.delete'
  | 'token.delete'
  | 'bot.create'
  | 'bot.update'
  | 'bot.delete'
  | 'command.create'
  | 'command.update'
  | 'command.delete'

/** Writes an entry of the audit log in the transaction of its change. */
export async function audit(trx: Transaction, entry: AuditEntry): Promise<void> {
  await sql`
    insert into audit_log (id, action, actor_id, target_type, target_id, metadata, ip, created_at)
    values (${uuidv7()}, ${entry.action}, ${entry.actorId}, ${entry.targetType}, ${entry.targetId},
      ${entry.metadata === undefined ? null : JSON.stringify(entry.metadata)}, ${entry.ip ?? null}, now_ms())`.execute(
    trx,
  )
}

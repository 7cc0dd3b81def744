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
 * Records an event in the outbox, in the transaction of the change it tells of: the event goes out if and only if the
 * change is committed. Call it after the change, under the locks of the change, so that the order of events is the
 * order of commits. The active trace travels along.
 */
export async function record<T extends EventType>(trx: Transaction, event: RecordedEvent<T>): Promise<void> {
  await insertOutbox(trx, event.routing, JSON.stringify({ type: event.type, payload: event.payload }))
}

/** Records what only the realtime nodes must know (ended sessions, changed rights): no client receives anything. */
export async function recordControl(trx: Transaction, routing: Routing): Promise<void> {
  await insertOutbox(trx, routing, null)
}

/**
 * The id comes after the transaction has its own number (`pg_current_xact_id` in the one-time filter): the relay's
 * low-water mark relies on no id being older than the transaction it belongs to.
 */
async function insertOutbox(trx: Transaction, routing: Routing, event: string | null) {
  await sql`
    insert into outbox (id, slot, routing, event, trace, created_at)
    select nextval('outbox_ids'), slot, ${JSON.stringify(routing)}, ${event}, ${currentTraceparent()}, now_ms()
    from outbox_ring where pg_current_xact_id() is not null`.execute(trx)
}

/** Records a job in the transaction of its cause; returns its id. Workers run it at least once. */
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
  targetType: 'user' | 'channel' | 'message' | 'webhook' | 'session' | 'network' | 'server' | 'export'
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
  | 'user.password.reset'
  | 'sign-in.fail'
  | 'sign-in.lock'
  | 'session.create'
  | 'session.end'
  | 'session.reuse'
  | 'channel.create'
  | 'channel.update'
  | 'channel.delete'
  | 'message.delete'
  | 'webhook.create'
  | 'webhook.delete'
  | 'webhook.orphan'
  | 'webhook.take-over'
  | 'export.create'

/** Writes an audit entry in the transaction of the change it tells of. */
export async function audit(trx: Transaction, entry: AuditEntry): Promise<void> {
  await sql`
    insert into audit_log (id, action, actor_id, target_type, target_id, metadata, ip, created_at)
    values (${uuidv7()}, ${entry.action}, ${entry.actorId}, ${entry.targetType}, ${entry.targetId},
      ${entry.metadata === undefined ? null : JSON.stringify(entry.metadata)}, ${entry.ip ?? null}, now_ms())`.execute(
    trx,
  )
}

import {
  Author,
  Channel,
  Id,
  ListedWebhook,
  Message,
  Nullable,
  ServerSettings,
  Timestamp,
  User,
} from '@parley/contract'
import type { Exports } from '@parley/database'
import type { Selectable } from 'kysely'
import { type Static, Type } from 'typebox'
import { AuditEntry } from '../audit-log/audit-log.routes.ts'

export const Export = Type.Object({
  id: Id,
  state: Type.Enum(['waiting', 'running', 'ready', 'failed']),
  requestedBy: Id,
  progress: Type.Object({
    records: Type.Integer({ description: 'Number of records in the document so far' }),
    total: Nullable(
      Type.Integer({
        description: 'Number of records of the complete document; an estimate until the export is ready',
      }),
    ),
  }),
  size: Nullable(Type.Integer({ description: 'Size of the download in bytes, compressed' })),
  createdAt: Timestamp,
  finishedAt: Nullable(Timestamp),
  expiresAt: {
    ...Timestamp,
    description: 'The export can be downloaded until then. The time is extended while it is computed',
  },
})

export type ExportRow = Selectable<Exports>

export const exportView = (row: ExportRow): Static<typeof Export> => ({
  id: row.id,
  state: row.state,
  requestedBy: row.requestedBy,
  progress: { records: row.recordsDone, total: row.recordsTotal },
  size: row.size,
  createdAt: row.createdAt,
  finishedAt: row.finishedAt,
  expiresAt: row.expiresAt,
})

/** The document that the worker writes (`exportDocument`). The schema is only for OpenAPI and is not used to serialize. */
export const ExportDocument = Type.Object({
  exportedAt: { ...Timestamp, description: 'The moment of the snapshot that the document shows' },
  serverSettings: ServerSettings,
  users: Type.Array(
    Type.Object({ ...User.properties, removedAt: Nullable({ ...Timestamp, description: 'When the person left' }) }),
  ),
  channels: Type.Array(Type.Omit(Channel, ['memberCount'])),
  conversations: Type.Array(
    Type.Object({ id: Id, participants: Type.Array(Id), createdAt: Timestamp, lastMessageAt: Timestamp }),
  ),
  messages: Type.Array(Type.Object({ ...Message.properties, author: Author }), {
    description: 'Of channels, threads and conversations, oldest first',
  }),
  webhooks: Type.Array(ListedWebhook),
  auditLog: Type.Array(AuditEntry, { description: 'Oldest first' }),
})

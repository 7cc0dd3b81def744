/**
 * The rights of each service's PostgreSQL role, by table. A row lock needs the right to update some column: a service that locks rows
 * without changing them has the right to update one harmless column.
 */
export type DatabaseRole = 'auth' | 'directory' | 'messaging' | 'admin' | 'realtime' | 'worker'

type Rights = Record<string, string>

/** For the readiness check: whether the migrations were run. */
const schema: Rights = { kysely_migration: 'select' }

/** All columns but the password hashes, which only auth and directory may read. A new column of the table must be added here. */
const people =
  'select (id, user_name, user_name_key, user_name_skeleton, email, email_unproven, is_admin, created_at, removed_at, avatar_version)'

/** For `libs/identity`, which finds out who calls. */
const identity: Rights = { sessions: 'select', users: people }

/** For `record`, `recordJob` and `audit`. No service can change entries of the audit log. */
const recording: Rights = {
  outbox: 'insert',
  outbox_ids: 'usage',
  outbox_ring: 'select',
  jobs: 'insert',
  audit_log: 'insert',
}

/** For `once`: answers to requests with an `Idempotency-Key`. */
const repeating: Rights = { idempotency_keys: 'select, insert, update' }

/** For `libs/accounts`, which auth and directory use. */
const accounts: Rights = {
  users: 'select, insert, update',
  avatars: 'select, delete',
  sessions: 'select, insert, update',
  one_time_links: 'select, insert, update, delete',
  attempts: 'select, insert, update, delete',
  channels: 'select, insert, update',
  channel_members: 'select, insert, delete',
  read_states: 'select, insert, update',
  read_folds: 'select',
  server_settings: 'select',
  // To tell the admins about webhooks whose owner leaves.
  webhooks: 'select (id, name, channel_id, created_by, deleted_at)',
}

export const rights: Record<DatabaseRole, Rights> = {
  auth: {
    ...schema,
    ...recording,
    ...accounts,
    oauth_states: 'select, insert, delete, update (expires_at)',
  },
  directory: {
    ...schema,
    ...recording,
    ...repeating,
    ...accounts,
    messages: 'select',
    user_words: 'select',
    presence: 'select, insert, update',
    avatars: 'select, insert, update, delete',
    blobs: 'select, insert, update, delete',
    blob_chunks: 'select, insert, delete',
  },
  messaging: {
    ...schema,
    ...recording,
    ...identity,
    users: `${people}, update (created_at)`,
    channels: 'select, insert, update',
    channel_members: 'select, insert',
    messages: 'select, insert, update',
    threads: 'select, insert, update, delete',
    reactions: 'select, insert, delete',
    read_states: 'select, insert, update',
    read_folds: 'select, insert, update',
    idempotency_keys: 'select, insert, update, delete',
    webhooks: 'select, update (last_posted_at)',
    attempts: 'select, insert, update',
    uploads: 'select, insert, update',
    message_uploads: 'select, insert, delete',
    // Search reads messages that the projection lacks from the outbox.
    outbox: 'select, insert',
    message_search: 'select',
    search_segments: 'select',
    search_progress: 'select',
    blobs: 'select, insert, update, delete',
    blob_chunks: 'select, insert, delete',
  },
  admin: {
    ...schema,
    ...recording,
    ...repeating,
    ...identity,
    users: `${people}, update (created_at)`,
    audit_log: 'select, insert',
    server_settings: 'select, update',
    channels: 'select, update (topic)',
    channel_members: 'select',
    webhooks: 'select, insert, update',
    exports: 'select, insert',
    export_parts: 'select',
    blobs: 'select',
    blob_chunks: 'select',
  },
  realtime: {
    ...schema,
    ...identity,
    channels: 'select',
    channel_members: 'select',
    relay_lease: 'select',
    outbox: 'select',
    event_positions: 'select',
    presence: 'select, insert, update',
    presence_nodes: 'select, insert, update, delete',
  },
  worker: {
    ...schema,
    ...identity,
    users: `${people}, update (avatar_version)`,
    avatars: 'select, update, delete',
    // To tell about an avatar that is ready.
    outbox: 'select, insert',
    outbox_ids: 'usage',
    outbox_0: 'select, truncate',
    outbox_1: 'select, truncate',
    outbox_2: 'select, truncate',
    outbox_ring: 'select, update',
    event_positions: 'select, insert, delete',
    relay_lease: 'select, update',
    jobs: 'select, insert, update, delete',
    sessions: 'select, delete, update (user_agent)',
    idempotency_keys: 'select, delete, update (created_at)',
    one_time_links: 'select, delete, update (expires_at)',
    attempts: 'select, delete, update (last_attempt_at)',
    channels: 'select, update (created_at)',
    channel_members: 'select, delete',
    messages: 'select, delete',
    threads: 'select, delete',
    reactions: 'select, delete',
    read_states: 'select, insert, update, delete',
    read_folds: 'select, insert, update, delete',
    webhooks: 'select, delete',
    message_search: 'select, insert, update, delete',
    search_segments: 'select, insert, update',
    search_progress: 'select, update',
    uploads: 'select, update, delete',
    message_uploads: 'select, delete',
    blobs: 'select, insert, update, delete',
    blob_chunks: 'select, insert, delete',
    // An export is entered in the audit log.
    audit_log: 'select, insert',
    server_settings: 'select',
    exports: 'select, update, delete',
    export_parts: 'select, insert, delete',
  },
}

/**
 * Rights that only the version before needs. An upgrade keeps them while replicas of that version run; the next migration takes them
 * away. Emptied with every release.
 */
export const rightsOfVersionBefore: Partial<Record<DatabaseRole, Rights>> = {
  messaging: { users: 'select' },
}

export const databaseRoles = Object.keys(rights) as DatabaseRole[]

/** The name of the role in PostgreSQL. All databases of a server share their roles. */
export const roleName = (role: DatabaseRole): string => `parley_${role}`

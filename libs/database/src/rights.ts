/**
 * What each service may do in the database, by table: its PostgreSQL role has just this. A row lock needs the right to update some
 * column of the table; where a service locks what it does not change, a column stands here that does no harm.
 */
export type DatabaseRole = 'auth' | 'directory' | 'messaging' | 'admin' | 'realtime' | 'worker'

type Rights = Record<string, string>

/** Whether the migrations of its version were run: readiness asks that of every service. */
const schema: Rights = { kysely_migration: 'select' }

/** What is known of people but their password hashes, which only auth and directory may read. A new column of the table goes here too. */
const people =
  'select (id, user_name, user_name_key, user_name_skeleton, email, email_unproven, is_admin, created_at, removed_at)'

/** Who calls: `libs/identity`. */
const identity: Rights = { sessions: 'select', users: people }

/** What happened: `record`, `recordJob` and `audit`. Entries of the audit log can be added and by no service changed. */
const recording: Rights = {
  outbox: 'insert',
  outbox_ids: 'usage',
  outbox_ring: 'select',
  jobs: 'insert',
  audit_log: 'insert',
}

/** What requests with an `Idempotency-Key` were answered: `once`. */
const repeating: Rights = { idempotency_keys: 'select, insert, update' }

/** People with their credentials and sessions: `libs/accounts`, for auth and directory. */
const accounts: Rights = {
  users: 'select, insert, update',
  sessions: 'select, insert, update',
  one_time_links: 'select, insert, update, delete',
  attempts: 'select, insert, update, delete',
  channels: 'select, insert, update',
  channel_members: 'select, insert, delete',
  read_states: 'select, insert, update',
  read_folds: 'select',
  server_settings: 'select',
  // Who is told when the admin who answers for a webhook leaves.
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
    presence: 'select, insert, update',
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
    // What is not in the projection yet is searched in the outbox.
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
    outbox: 'select',
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
    // The command line exports with these rights, and says so.
    audit_log: 'select, insert',
    server_settings: 'select',
    exports: 'select, update, delete',
    export_parts: 'select, insert, delete',
  },
}

/**
 * What only the version before needs: an upgrade leaves it to that version until its replicas are gone, and migrating once more
 * takes it away. Emptied with every release.
 */
export const rightsOfVersionBefore: Partial<Record<DatabaseRole, Rights>> = {
  messaging: { users: 'select' },
}

export const databaseRoles = Object.keys(rights) as DatabaseRole[]

/** As PostgreSQL knows it; the same for every database of a server. */
export const roleName = (role: DatabaseRole): string => `parley_${role}`

/** The services that have a PostgreSQL role of their own. */
export type DatabaseRole = 'auth' | 'directory' | 'messaging' | 'admin' | 'integrations' | 'realtime' | 'worker'

/** Privileges by table or sequence, as `grant` writes them. */
type Rights = Record<string, string>

/** For the readiness check, which reads whether the migrations were run. */
const schema: Rights = { kysely_migration: 'select' }

/**
 * All columns except the password hashes, which only auth and directory may read. A new column of the table must be
 * added here.
 */
const people =
  'select (id, user_name, user_name_key, user_name_skeleton, email, email_unproven, is_admin, is_guest, role, guest_expires_at, ' +
  'created_at, removed_at, deactivated_at, is_bot, display_name, title, managed_by, avatar_version, ' +
  'status_text, status_emoji, status_expires_at, ' +
  'external_id, scim_user_name, scim_deleted_at, changed_at, language, preferred_language, language_chosen, ' +
  'given_name, family_name)'

/** The columns of `users` that the worker changes. */
const changedByWorker =
  'avatar_version, deactivated_at, device_generation, auto_joined, status_text, status_emoji, status_expires_at'

/** For `libs/identity`, which finds out who calls. */
const identity: Rights = { sessions: 'select, update (last_used_at)', users: people }

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
  // To delete the second factors of a removed person.
  totp_secrets: 'select, delete',
  recovery_codes: 'select, delete',
  passkeys: 'select, delete',
  mfa_attempts: 'select, delete',
  channels: 'select, insert, update',
  channel_members: 'select, insert, delete, update (by_hand)',
  groups: 'select, insert, update',
  group_members: 'select, insert, delete',
  channel_groups: 'select, insert, delete',
  read_states: 'select, insert, update',
  read_folds: 'select',
  channel_preferences: 'select',
  server_settings: 'select',
  // To tell the admins about webhooks whose owner leaves.
  webhooks: 'select (id, name, channel_id, created_by, deleted_at)',
}

/**
 * The rights of each service's PostgreSQL role, by table. A row lock needs the right to update some column: a service
 * that locks rows without changing them has the right to update one harmless column.
 */
export const rights: Record<DatabaseRole, Rights> = {
  auth: {
    ...schema,
    ...recording,
    ...accounts,
    oauth_states: 'select, insert, delete, update (expires_at)',
    identities: 'select, insert, update',
    provider_sessions: 'select, insert',
    used_tokens: 'select, insert, delete, update (expires_at)',
    totp_secrets: 'select, insert, update, delete',
    recovery_codes: 'select, insert, delete',
    passkeys: 'select, insert, update, delete',
    mfa_attempts: 'select, insert, update, delete',
    webauthn_challenges: 'select, insert, delete, update (expires_at)',
    scim_clients: 'select, insert, update',
  },
  directory: {
    ...schema,
    ...recording,
    ...repeating,
    ...accounts,
    notification_settings: 'select, insert, update',
    scim_clients: 'select, update (last_used_at)',
    messages: 'select',
    user_words: 'select',
    presence: 'select, insert, update',
    apps: 'select, insert, update',
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
    channel_members: 'select, insert, update (by_hand)',
    groups: 'select',
    group_members: 'select',
    channel_groups: 'select',
    messages: 'select, insert, update',
    threads: 'select, insert, update, delete',
    thread_follows: 'select, insert, update',
    // A trigger writes it.
    mentions: 'select',
    saved_messages: 'select, insert, delete',
    reactions: 'select, insert, delete',
    read_states: 'select, insert, update',
    read_folds: 'select, insert, update',
    channel_preferences: 'select, insert, update, delete',
    idempotency_keys: 'select, insert, update, delete',
    webhooks: 'select, update (last_posted_at)',
    attempts: 'select, insert, update',
    uploads: 'select, insert, update',
    message_uploads: 'select, insert, delete',
    // Search finds in the outbox which messages are not in the projection yet.
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
  integrations: {
    ...schema,
    ...recording,
    ...identity,
    users: `${people}, update (created_at)`,
    // To find a message by Slack's `ts`, its author for events about reactions, and the channel of a webhook.
    messages: 'select (id, channel_id, thread_id, seq, ts, created_at, deleted_at, author_id)',
    webhooks: 'select (id, channel_id, deleted_at)',
    // To find the people whom the mention of a group means, and to write such a mention as Slack does.
    group_members: 'select',
    groups: 'select (id, handle, handle_key, deleted_at)',
    // For the description of a file in Slack's API.
    uploads:
      'select (filename, kind, channel_id, original_name, content_type, size, width, height, uploaded_by, created_at, stored_at)',
    message_uploads: 'select',
    // For the name of the workspace in Slack's API.
    server_settings: 'select',
    // To send events to subscriptions.
    outbox: 'select, insert',
    event_positions: 'select',
    relay_lease: 'select',
    channels: 'select',
    channel_members: 'select',
    subscriptions: 'select, insert, update',
    subscription_deliveries: 'select, insert',
    delivery_lease: 'select, update',
    // Commands and buttons.
    apps: 'select, insert, update',
    commands: 'select, insert, update',
    app_responses: 'select, insert, update',
  },
  realtime: {
    ...schema,
    ...identity,
    channels: 'select',
    channel_members: 'select',
    // To find the people whom the mention of a group means.
    group_members: 'select',
    relay_lease: 'select',
    outbox: 'select',
    event_positions: 'select',
    presence: 'select, insert, update',
    consumers: 'select, insert, update, delete',
    presence_nodes: 'select, insert, update, delete',
  },
  worker: {
    ...schema,
    ...identity,
    // A guest whose time is over also loses known devices and unfinished sign-ins.
    users: `${people}, select (device_generation, auto_joined), update (${changedByWorker})`,
    mfa_attempts: 'select (user_id), delete',
    presence: 'select (user_id, set_by_hand, streams), update (offline_at)',
    avatars: 'select, update, delete',
    // To record the event of a new avatar.
    outbox: 'select, insert',
    outbox_ids: 'usage',
    outbox_0: 'select, truncate',
    outbox_1: 'select, truncate',
    outbox_2: 'select, truncate',
    outbox_ring: 'select, update',
    event_positions: 'select, insert, delete',
    relay_lease: 'select, update',
    // The outbox keeps the events that consumers and subscriptions have not read yet. Those of removed bots are deleted.
    consumers: 'select, delete',
    subscriptions: 'select, update (deleted_at, updated_at)',
    subscription_deliveries: 'select, delete',
    app_responses: 'select, delete',
    jobs: 'select, insert, update, delete',
    sessions: 'select, delete, update (user_agent, ended_at)',
    idempotency_keys: 'select, delete, update (created_at)',
    one_time_links: 'select, delete, update (expires_at)',
    attempts: 'select, delete, update (last_attempt_at)',
    channels: 'select, update (created_at, members_version)',
    channel_members: 'select, insert, delete',
    channel_groups: 'select (channel_id), delete',
    // The worker adds previews and the sizes of old images to messages.
    messages: 'select, delete, update (previews, rev, image_sizes)',
    link_previews: 'select, insert, update, delete',
    threads: 'select, delete',
    // For mails about missed messages.
    thread_follows: 'select',
    group_members: 'select',
    groups: 'select (id, handle)',
    notification_settings: 'select',
    missed_messages_progress: 'select, update',
    reactions: 'select, delete',
    read_states: 'select, insert, update, delete',
    read_folds: 'select, insert, update, delete',
    channel_preferences: 'select, delete',
    webhooks: 'select, delete',
    message_search: 'select, insert, update, delete',
    search_segments: 'select, insert, update',
    search_progress: 'select, update',
    uploads: 'select, insert, update, delete',
    message_uploads: 'select, insert, delete',
    blobs: 'select, insert, update, delete',
    blob_chunks: 'select, insert, delete',
    // Each export has an entry in the audit log.
    audit_log: 'select, insert',
    server_settings: 'select',
    exports: 'select, update, delete',
    export_parts: 'select, insert, delete',
  },
}

/**
 * Rights that only the previous version needs. An upgrade keeps them while replicas of that version run, and the next
 * migration revokes them. The list is emptied with every release.
 */
export const rightsOfVersionBefore: Partial<Record<DatabaseRole, Rights>> = {
  messaging: { users: 'select' },
  integrations: { subscription_deliveries: 'delete', app_responses: 'delete' },
}

export const databaseRoles = Object.keys(rights) as DatabaseRole[]

/** The name of the role in PostgreSQL. All databases of a server share their roles. */
export const roleName = (role: DatabaseRole): string => `parley_${role}`

import { sqlRowId } from '@parley/test'

/** The kinds of the row ids. */
export const [user, channel] = [1, 2] as const

/**
 * SQL: 2,000 people, and this number of private channels, numbered from 0. The first 40 people are members of each channel, but person 1 has
 * left every channel whose number is a multiple of `leftEvery`.
 */
export const insertPrivateChannels = ({ channels, leftEvery }: { channels: number; leftEvery: number }) => `
    insert into users (id, user_name, user_name_key, email, created_at)
    select ${sqlRowId(user)}, 'user ' || n, 'user ' || n, n || '@example.com', 1 from generate_series(1, 2000) n;
    insert into channels (id, kind, name, name_key, created_at, last_seq)
    select ${sqlRowId(channel)}, 'private', 'channel ' || n, 'channel ' || n, 1, 200 from generate_series(0, ${channels - 1}) n;
    insert into channel_members
    select ${sqlRowId(channel)}, ${sqlRowId(user, 'u')}, 1 from generate_series(0, ${channels - 1}) n, generate_series(1, 40) u
    where u > 1 or n % ${leftEvery} > 0;`

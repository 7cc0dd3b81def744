/**
 * The statements that an expert would write in psql for the same answer: the same messages, limited to those that this
 * person may read, with everything that is shown of them, by the best index there is. Not prepared, because psql does
 * not prepare either.
 */
export interface Statement {
  text: string
  values: unknown[]
}

/** The newest messages that contain a text, found by the index of grams, one segment after the other. */
export const grams = (userId: string, folded: string, keys: readonly string[]): Statement => ({
  text: ofHits(`
    select found.* from (select search_keys(segment, $3) as keys from search_segments order by from_at desc) s
    cross join lateral (
      select d.message_id, d.created_at from message_search d
      where search_grams(d.segment, d.folded) @> s.keys and strpos(d.folded, $2) > 0 and ${mayRead('d')}
      order by d.created_at + 0 desc, d.message_id desc limit 50
    ) found limit 50`),
  values: [userId, folded, keys],
})

/** The same answer by reading one message after the other, of one channel, of one author or of all. */
export function nearest(
  userId: string,
  folded: string,
  { channelId, authorId }: { channelId?: string; authorId?: string } = {},
): Statement {
  const [column, value] = channelId ? ['channel_id', channelId] : authorId ? ['author_id', authorId] : []
  return {
    text: ofHits(`
      select d.message_id, d.created_at from message_search d
      where strpos(d.folded, $2) > 0 ${column ? `and d.${column} = $3` : ''} and ${mayRead('d')}
      order by d.created_at desc, d.message_id desc limit 50`),
    values: value ? [userId, folded, value] : [userId, folded],
  }
}

/** The newest messages of one author. */
export const ofAuthor = (userId: string, authorId: string): Statement => ({
  text: ofHits(`
    select d.message_id, d.created_at from message_search d where d.author_id = $2 and ${mayRead('d')}
    order by d.created_at desc, d.message_id desc limit 50`),
  values: [userId, authorId],
})

/** The newest page of a channel. */
export const newestPage = (userId: string, channelId: string): Statement => ({
  text: whole(`
    messages m where m.channel_id = $2 and m.thread_id is null and m.deleted_at is null and ${mayRead('m')}
    order by m.seq desc limit 50`),
  values: [userId, channelId],
})

const mayRead = (table: string) => `exists (
  select from channels c where c.id = ${table}.channel_id and c.deleted_at is null and (c.kind = 'public' or exists (
    select from channel_members o where o.channel_id = c.id and o.user_id = $1)))`

const ofHits = (hits: string) =>
  whole(`(${hits}) hit join messages m on m.id = hit.message_id order by m.created_at desc, m.id desc`)

const whole = (messages: string) => `
  select m.*, u.user_name, t.reply_count, t.last_reply_at, t.last_reply_by, t.participants,
    (select json_agg(r order by position) from reactions r where r.message_id = m.id) as reactions
  from (select m.* from ${messages}) m
    left join users u on u.id = m.author_id left join threads t on t.message_id = m.id`

/** What somebody who knows the tables would ask at psql, by the best index there is; not prepared, as psql does not. */
export interface Statement {
  text: string
  values: unknown[]
}

/** The newest that contain a text, by the index of grams, segment after segment. */
export const grams = (folded: string, keys: readonly string[]): Statement => ({
  text: whole(`
    select found.* from (select search_keys(segment, $2) as keys from search_segments order by from_at desc) s
    cross join lateral (
      select d.message_id, d.created_at from message_search d
      where search_grams(d.segment, d.folded) @> s.keys and strpos(d.folded, $1) > 0
      order by d.created_at + 0 desc, d.message_id desc limit 50
    ) found limit 50`),
  values: [folded, keys],
})

/** The same by looking at one after the other, of a channel or an author or of all. */
export function nearest(
  folded: string,
  { channelId, authorId }: { channelId?: string; authorId?: string } = {},
): Statement {
  const [column, value] = channelId ? ['channel_id', channelId] : authorId ? ['author_id', authorId] : []
  return {
    text: whole(`
      select d.message_id, d.created_at from message_search d
      where strpos(d.folded, $1) > 0 ${column ? `and d.${column} = $2` : ''}
      order by d.created_at desc, d.message_id desc limit 50`),
    values: value ? [folded, value] : [folded],
  }
}

/** What somebody said last. */
export const ofAuthor = (userId: string): Statement => ({
  text: whole(`
    select d.message_id, d.created_at from message_search d where d.author_id = $1
    order by d.created_at desc, d.message_id desc limit 50`),
  values: [userId],
})

/** The newest page of a channel with all that a page shows. */
export const newestPage = (channelId: string): Statement => ({
  text: `
    select m.*, u.user_name, t.reply_count, t.last_reply_at, t.last_reply_by, t.participants,
      (select json_agg(r order by position) from reactions r where r.message_id = m.id) as reactions
    from messages m left join users u on u.id = m.author_id left join threads t on t.message_id = m.id
    where m.channel_id = $1 and m.thread_id is null and m.deleted_at is null order by m.seq desc limit 50`,
  values: [channelId],
})

const whole = (hits: string) => `
  select m.*, u.user_name from (${hits}) hit
  join messages m on m.id = hit.message_id left join users u on u.id = m.author_id
  order by m.created_at desc, m.id desc`

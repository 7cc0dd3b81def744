import { migrate, uuidv7 } from '@parley/database'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createDatabaseAt } from './earlier-schema.testing.ts'

/** A database as it was after a migration, with a person and a channel. */
async function databaseAt(
  migration: string,
  { userName, displayName, email }: { userName: string; displayName: string; email: string },
  { name, topic }: { name: string; topic: string },
) {
  const database = await createDatabaseAt(migration)
  onTestFinished(() => database.drop())
  const { db } = database
  const [userId, channelId] = [uuidv7(), uuidv7()]
  await sql`insert into users (id, user_name, user_name_key, display_name, email, created_at)
    values (${userId}, ${userName}, ${userName.toLowerCase()}, ${displayName}, ${email}, 1)`.execute(db)
  await sql`insert into channels (id, kind, name, name_key, topic, created_at)
    values (${channelId}, 'public', ${name}, ${name.toLowerCase()}, ${topic}, 1)`.execute(db)
  return { db, userId, channelId }
}

test('after an upgrade, people and channels of before are found with and without their accents', async () => {
  const { db, userId, channelId } = await databaseAt(
    '0055-images-without-channel',
    { userName: 'José', displayName: 'Øystein Łuczak-Groß', email: 'jose@example.com' },
    { name: 'Büro', topic: 'Cœur' },
  )
  await migrate(db)

  const { rows } = await sql<{ word: string }>`
    select split_part(entry, chr(1), 1) as word from user_words where user_id = ${userId} order by entry`.execute(db)
  expect(rows.map(({ word }) => word)).toEqual(
    [
      'groß',
      'gross',
      'jose',
      'jose@example.com',
      'josé',
      'luczak-gross',
      'oystein luczak-gross',
      'øystein łuczak-groß',
      'łuczak-groß',
    ].toSorted(),
  )
  const found = await sql`select 'old' as by, channels_with_grams('{bür}') as id
    union all select 'text', channels_with_text('buro') union all select 'topic', channels_with_text('coeur')`.execute(
    db,
  )
  expect(found.rows).toEqual(['old', 'text', 'topic'].map((by) => ({ by, id: channelId })))
})

test('after an upgrade, people and channels of before are found with every form of sigma and i', async () => {
  const { db, userId, channelId } = await databaseAt(
    '0063-saved-messages',
    { userName: 'Γιώργος', displayName: 'ΠΑΠΑΣ Yıldız', email: 'g@example.com' },
    { name: 'Δρόμος', topic: 'ΟΔΌΣ' },
  )
  await migrate(db)

  const wanted = ['γιώργος', 'παπάς', 'yildiz']
  const { rows } = await sql<{ word: string }>`
    select word from unnest(${wanted}::text[]) word where exists (
      select from user_words where user_id = ${userId} and starts_with(entry, fold_accents(word)))`.execute(db)
  expect(rows.map(({ word }) => word)).toEqual(wanted)
  const found = await sql`select 'name' as by, channels_with_text(fold_accents('δρόμος')) as id
    union all select 'topic', channels_with_text(fold_accents('οδός'))`.execute(db)
  expect(found.rows).toEqual(['name', 'topic'].map((by) => ({ by, id: channelId })))
})

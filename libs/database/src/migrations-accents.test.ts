import { migrate, uuidv7 } from '@parley/database'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createDatabaseAt } from './earlier-schema.testing.ts'

async function databaseAt(migration: string) {
  const database = await createDatabaseAt(migration)
  onTestFinished(() => database.drop())
  return database
}

test('after an upgrade, people and channels of before are found with and without their accents', async () => {
  const { db } = await databaseAt('0055-images-without-channel')
  const [jose, office] = [uuidv7(), uuidv7()]
  await sql`insert into users (id, user_name, user_name_key, display_name, email, created_at)
    values (${jose}, 'José', 'josé', 'Øystein Łuczak-Groß', 'jose@example.com', 1)`.execute(db)
  await sql`insert into channels (id, kind, name, name_key, topic, created_at)
    values (${office}, 'public', 'Büro', 'büro', 'Cœur', 1)`.execute(db)
  await migrate(db)

  const { rows } = await sql<{ word: string }>`
    select split_part(entry, chr(1), 1) as word from user_words where user_id = ${jose} order by entry`.execute(db)
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
  expect(found.rows).toEqual(['old', 'text', 'topic'].map((by) => ({ by, id: office })))
})

test('after an upgrade, people and channels of before are found with every form of sigma and i', async () => {
  const { db } = await databaseAt('0063-saved-messages')
  const [giorgos, athens] = [uuidv7(), uuidv7()]
  await sql`insert into users (id, user_name, user_name_key, display_name, email, created_at)
    values (${giorgos}, 'Γιώργος', 'γιώργος', 'ΠΑΠΑΣ Yıldız', 'g@example.com', 1)`.execute(db)
  await sql`insert into channels (id, kind, name, name_key, topic, created_at)
    values (${athens}, 'public', 'Δρόμος', 'δρόμος', 'ΟΔΌΣ', 1)`.execute(db)
  await migrate(db)

  const wanted = ['γιώργος', 'παπάς', 'yildiz']
  const { rows } = await sql<{ word: string }>`
    select word from unnest(${wanted}::text[]) word where exists (
      select from user_words where user_id = ${giorgos} and starts_with(entry, fold_accents(word)))`.execute(db)
  expect(rows.map(({ word }) => word)).toEqual(wanted)
  const found = await sql`select 'name' as by, channels_with_text(fold_accents('δρόμος')) as id
    union all select 'topic', channels_with_text(fold_accents('οδός'))`.execute(db)
  expect(found.rows).toEqual(['name', 'topic'].map((by) => ({ by, id: athens })))
})

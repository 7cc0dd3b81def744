import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const folder = path.join(import.meta.dirname, 'migrations')
const migrations = globSync('*.ts', { cwd: folder }).sort()

/**
 * Statements that break the previous version, which still runs during an upgrade. A migration that removes something
 * which that version does not use any more has a name of the form `0042-contract-….ts`.
 */
const breaking = {
  'removes something': /\bdrop (table|column|view|function|sequence|schema)\b/,
  'renames something': /\brename\b/,
  'changes the type of a column': /\balter column \w+ (set data )?type\b/,
  'forbids nulls in a column that rows may lack': /\bset not null\b/,
  'requires a value that the previous version does not write':
    /\badd column (if not exists )?\w+ (?![^,]*default)[^,]*\bnot null\b/,
}

const faultsOf = (text: string) =>
  Object.entries(breaking).flatMap(([fault, pattern]) => (pattern.test(text) ? [fault] : []))

test.each(migrations.filter((file) => !/^\d{4}-contract-/.test(file)))('%s only adds', (file) => {
  expect(faultsOf(readFileSync(path.join(folder, file), 'utf8').toLowerCase())).toEqual([])
})

test.each([
  ['alter table users drop column email', 'removes something'],
  ['alter table users rename column email to address', 'renames something'],
  ['alter table users alter column email type citext', 'changes the type of a column'],
  ['alter table users alter column email set not null', 'forbids nulls in a column that rows may lack'],
  ['alter table users add column age integer not null', 'requires a value that the previous version does not write'],
])('%s would be found', (statement, fault) => {
  expect(faultsOf(statement)).toEqual([fault])
})

test('every migration has its own number', () => {
  const numbers = migrations.map((file) => file.slice(0, 4))
  expect(numbers).toEqual([...new Set(numbers)])
})

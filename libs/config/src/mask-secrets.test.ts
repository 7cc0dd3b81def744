import { expect, test } from 'vitest'
import { maskSecrets } from './mask-secrets.ts'

test('no password of a URL with several hosts is shown', () => {
  const shown = maskSecrets({
    url: 'postgres://ann:se:cr@t@db1:5433,db2:5434/parley?password=secret&sslmode=require',
  })
  expect(shown).toEqual({ url: 'postgres://ann:***@db1:5433,db2:5434/parley?password=***&sslmode=require' })
})

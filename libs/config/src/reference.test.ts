import { expect, test } from 'vitest'
import { configKeys } from './keys.ts'
import { renderReference } from './reference.ts'

test('docs/configuration.md matches the schema (vitest -u updates it)', async () => {
  await expect(renderReference()).toMatchFileSnapshot('../../../docs/configuration.md')
})

test('every key is described', () => {
  expect(configKeys.filter(({ schema }) => !schema.description).map(({ key }) => key)).toEqual([])
})

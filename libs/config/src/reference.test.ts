import { expect, test } from 'vitest'
import { configKeys } from './keys.ts'
import { renderReference } from './reference.ts'

test('docs/configuration.md is what the schema says (vitest -u writes it anew)', async () => {
  await expect(renderReference()).toMatchFileSnapshot('../../../docs/configuration.md')
})

test('every key is described', () => {
  expect(configKeys.filter(({ schema }) => !schema.description).map(({ key }) => key)).toEqual([])
})

import { expect, test } from 'vitest'
import { everyMetric } from './names.ts'
import { renderReference } from './reference.ts'

test('docs/telemetry.md is up to date with names.ts', async () => {
  await expect(renderReference()).toMatchFileSnapshot('../../../docs/telemetry.md')
})

test('metric names are unique and have the form of Prometheus', () => {
  const names = Object.values(everyMetric).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/)
})

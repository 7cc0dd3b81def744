import { expect, test } from 'vitest'
import { everyMetric } from './names.ts'
import { renderReference } from './reference.ts'

test('docs/telemetry.md is what the names say', async () => {
  await expect(renderReference()).toMatchFileSnapshot('../../../docs/telemetry.md')
})

test('no two metrics share a name, and names keep to the form of Prometheus', () => {
  const names = Object.values(everyMetric).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/)
})

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { everyMetric, type LabelSets, type MetricDefinition } from '@parley/telemetry'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { findDebianProgram } from '../src/debian-program.ts'
import { root } from './rendered.ts'

interface Tests {
  tests: {
    input_series: { series: string }[]
    alert_rule_test: { alertname: string; exp_alerts: unknown[] }[]
  }[]
}

const directory = path.join(root, 'deploy/observability')
const read = (file: string) => parse(readFileSync(path.join(directory, file), 'utf8'))
const { tests } = read('alerts.test.yaml') as Tests
const promtool = await findDebianProgram({
  name: 'promtool',
  package: 'prometheus',
  path: 'usr/bin/promtool',
  standsAlone: true,
})
const why = 'missing' in promtool ? ` (skipped: ${promtool.missing})` : ''

test.skipIf(why)(`alerts fire with their fault and are silent without, in Prometheus itself${why}`, async () => {
  const command = 'command' in promtool ? promtool.command : ''
  const files = ['alerts.test.yaml', 'alerts-of-a-day.test.yaml'].map((file) => path.join(directory, file))
  const { stdout } = await promisify(execFile)(command, ['test', 'rules', ...files])
  expect(stdout).toContain('SUCCESS')
})

test('every alert is tested, silent and firing', () => {
  const rules = read('alerts.yaml').groups.flatMap(({ rules }: { rules: { alert: string }[] }) => rules)
  const alerts = rules.map(({ alert }: { alert: string }) => alert).sort()
  const expected = tests.flatMap(({ alert_rule_test }) => alert_rule_test)
  const named = (which: typeof expected) => [...new Set(which.map(({ alertname }) => alertname))].sort()
  expect(named(expected.filter(({ exp_alerts }) => exp_alerts.length === 0))).toEqual(alerts)
  expect(named(expected.filter(({ exp_alerts }) => exp_alerts.length > 0))).toEqual(alerts)
})

test('alerts are tested with series that the code writes', () => {
  const definitions = new Map(
    Object.values<MetricDefinition & { values?: LabelSets }>(everyMetric).map((definition) => [
      definition.name,
      definition,
    ]),
  )
  const fromScraping = ['service', 'instance', 'le']
  for (const { series } of tests.flatMap(({ input_series }) => input_series)) {
    const [, name] = /^(\w+)/.exec(series)!
    if (name === 'up') continue
    const definition = definitions.get(name!) ?? definitions.get(name!.replace(/_(bucket|count|sum)$/, ''))
    expect(definition, series).toBeDefined()
    for (const [, label, value] of series.matchAll(/(\w+)="([^"]*)"/g)) {
      if (fromScraping.includes(label!)) continue
      expect(definition!.labels, series).toContain(label)
      const values = definition!.values?.[label!]
      if (values) expect(values, series).toContain(value)
    }
  }
})

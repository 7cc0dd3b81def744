import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { everyMetric, label } from '@parley/telemetry'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { services } from './manifests.ts'
import { root } from './rendered.ts'

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}

const text = (file: string) => readFileSync(path.join(root, file), 'utf8')
const rules: Rule[] = parse(text('deploy/observability/alerts.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)
const dashboard = JSON.parse(text('k8s/components/monitoring/dashboard.json')) as {
  panels: { title: string; targets?: { expr: string }[] }[]
}
const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

test('the operator’s rules are the same as those of compose', () => {
  expect(parse(text('k8s/components/monitoring/alerts.yaml')).spec.groups).toEqual(
    parse(text('deploy/observability/alerts.yaml')).groups,
  )
})

test.each([
  ['alerts', rules.map(({ expr }) => expr)],
  ['dashboard', queries],
])('%s ask for metrics and labels that there are', (_what, expressions) => {
  const definitions = Object.values(everyMetric)
  const known = new Set([
    'up',
    ...definitions.flatMap(({ name, kind }) =>
      kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
    ),
  ])
  const fromScraping = ['service', 'instance', 'le']
  const knownLabels = new Set<string>([...Object.values(label), ...fromScraping])
  expect(expressions.length).toBeGreaterThan(10)

  for (const expression of expressions) {
    const metrics = [
      ...expression.matchAll(/\b(?:up|parley_\w+|http_server_\w+|nodejs_\w+|v8js_\w+|process_\w+)\b/g),
    ].map(([name]) => name)
    const labels = [...expression.matchAll(/(\w+)(?:=~|!=|!~|=)"|by \(([\w, ]+)\)/g)].flatMap(
      ([, one, several]) => one ?? several!.split(', '),
    )
    expect(
      metrics.filter((name) => !known.has(name)),
      expression,
    ).toEqual([])
    expect(
      labels.filter((name) => !knownLabels.has(name)),
      expression,
    ).toEqual([])
    expect(metrics.length, expression).toBeGreaterThan(0)
  }
})

test('the states in the rules of alerts occur where the metric is written: otherwise a rule would never fire', () => {
  const sources = globSync('{libs,services}/*/src/**/*.ts', { cwd: root }).map(text)
  const unknown = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/(parley_\w+)\{state="(\w+)"\}/g)].filter(([, name, value]) => {
      const [key] = Object.entries(everyMetric).find((entry) => entry[1].name === name)!
      const writers = sources.filter((source) => source.includes(`metric.${key}`))
      return !writers.some((source) => new RegExp(`\\b${value}\\b`).test(source))
    }),
  )
  expect(unknown).toEqual([])
})

test('the dashboard shows every metric', () => {
  const shown = queries.join('\n')
  expect(
    Object.values(everyMetric)
      .map(({ name }) => name)
      .filter((name) => !shown.includes(name)),
  ).toEqual([])
})

test('every alert has instructions in the runbook, and the runbook has no others', () => {
  const headings = [...text('docs/runbook.md').matchAll(/^### (Parley\w+)$/gm)].map(([, name]) => name!)
  expect(headings.toSorted()).toEqual(rules.map(({ alert }) => alert).sort())
  for (const { alert, annotations, labels } of rules) {
    expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
    expect(['critical', 'warning']).toContain(labels.severity)
    const [entry] = text('docs/runbook.md').split(`### ${alert}\n`)[1]!.split(/^##/m)
    for (const part of ['**Means**', '**Look**', '**Do**']) expect(entry, alert).toContain(part)
  }
})

test('Prometheus asks every service', () => {
  const scraped = parse(text('deploy/observability/prometheus.yaml')).scrape_configs[0].dns_sd_configs[0]
  expect(scraped.names.toSorted()).toEqual(services)
  expect(scraped.port).toBe(9464)
})

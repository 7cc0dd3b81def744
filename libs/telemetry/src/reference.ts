import type { MetricDefinition } from './metric-definition.ts'
import { label, labelMeaning, logFieldMeaning, metric, spanAttributeMeaning, spanMeaning } from './names.ts'

/** `docs/telemetry.md`: the telemetry schema for people who build dashboards and alerts on it. */
export function renderReference(): string {
  return [
    '# Telemetry reference',
    'Made from `libs/telemetry/src/names.ts`; change that and run `npx vitest run libs/telemetry -u`.',
    '## Metrics',
    'Prometheus text at `GET /metrics` on the internal port of every process.',
    table(['Metric', 'Kind', 'Labels', 'Meaning'], Object.values<MetricDefinition>(metric).map(metricRow)),
    '### Labels',
    table(
      ['Label', 'Meaning'],
      Object.values(label).map((name) => [code(name), labelMeaning[name]]),
    ),
    '## Traces',
    'Sent by OTLP when the environment names a collector (`OTEL_EXPORTER_OTLP_ENDPOINT`) or an exporter',
    '(`OTEL_TRACES_EXPORTER`) and the process was started with `--import @parley/telemetry/preload`. Sampling, headers and',
    'protocol are set by the standard `OTEL_*` variables. Requests, PostgreSQL statements (without values) and Redis commands',
    '(without arguments) are spans by themselves; health checks and scrapes are not traced. Besides there are:',
    table(['Span', 'Meaning'], rows(spanMeaning)),
    '### Span attributes',
    table(['Attribute', 'Meaning'], rows(spanAttributeMeaning)),
    '## Logs',
    'One JSON object per line on standard output, with the facts as fields. Credentials and addresses are blanked.',
    table(['Field', 'Meaning'], rows(logFieldMeaning)),
  ]
    .join('\n\n')
    .replace(/(?<=[a-z,])\n\n(?=[a-z(])/g, '\n')
    .concat('\n')
}

function metricRow({ name, kind, labels, description }: MetricDefinition) {
  return [code(name), kind, labels.map(code).join(', '), description]
}

function rows(meanings: Record<string, string>) {
  return Object.entries(meanings).map(([name, meaning]) => [code(name), meaning])
}

function table(head: string[], body: string[][]) {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')
}

function code(name: string) {
  return `\`${name}\``
}

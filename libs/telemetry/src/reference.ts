import type { LabelSets, MetricDefinition } from './instruments.ts'
import { everyMetric, label, labelMeaning, logFieldMeaning, spanAttributeMeaning, spanMeaning } from './names.ts'

/** Renders `docs/telemetry.md`, the telemetry schema for people who build dashboards and alerts. */
export function renderReference(): string {
  const parts = [
    '# Telemetry reference',
    'This page is for people who build dashboards and alerts: every metric, span, label and log field.',
    'It is generated from `libs/telemetry/src/names.ts`: change that file, then run `npx vitest run libs/telemetry -u`.',
    '## Metrics',
    `Every process serves them as Prometheus text at \`GET /metrics\` on its internal port. With \`OTEL_METRICS_EXPORTER=otlp\` they are also
sent to the collector, every \`OTEL_METRIC_EXPORT_INTERVAL\` milliseconds (60,000). There the runtime metrics have their
OpenTelemetry names (\`nodejs.eventloop.delay.p99\`, \`v8js.gc.duration\`).`,
    table(['Metric', 'Kind', 'Labels', 'Meaning'], Object.values<MetricDefinition>(everyMetric).map(metricRow)),
    '### Labels',
    table(
      ['Label', 'Meaning'],
      Object.values(label).map((name) => [code(name), labelMeaning[name]]),
    ),
    '## Traces',
    `Traces are sent by OTLP when the environment names a collector (\`OTEL_EXPORTER_OTLP_ENDPOINT\`) or an exporter
(\`OTEL_TRACES_EXPORTER\`). The process must be started with \`--import @parley/telemetry/preload\`, as \`npm start\`, the cluster and
the image do. The standard \`OTEL_*\` variables set sampling, headers and protocol. Every trace has a \`service.version\`. Requests,
PostgreSQL statements (without values) and Redis commands (without arguments) are spans. Health checks and scrapes are not traced. A
client’s \`traceparent\` is continued only with \`server.continueTraces\` ([configuration.md](configuration.md)). Our own spans:`,
    table(['Span', 'Meaning'], rows(spanMeaning)),
    '### Span attributes',
    table(['Attribute', 'Meaning'], rows(spanAttributeMeaning)),
    '## Logs',
    `Every process writes one JSON object per line to standard output. Credentials and email addresses are redacted. With
\`OTEL_LOGS_EXPORTER=otlp\` the lines are also sent to the collector.`,
    table(['Field', 'Meaning'], rows(logFieldMeaning)),
  ]
  return `${parts.join('\n\n')}\n`
}

function metricRow({ name, kind, labels, description, values }: MetricDefinition & { values?: LabelSets }) {
  const labelled = labels.map((label) => {
    const known = values?.[label]
    return known ? `${code(label)} (${known.map(code).join(', ')})` : code(label)
  })
  return [code(name), kind, labelled.join(', '), description]
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

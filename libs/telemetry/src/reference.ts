import type { LabelSets, MetricDefinition } from './metric-definition.ts'
import { everyMetric, label, labelMeaning, logFieldMeaning, spanAttributeMeaning, spanMeaning } from './names.ts'

/** `docs/telemetry.md`: the telemetry schema for people who build dashboards and alerts on it. */
export function renderReference(): string {
  const parts = [
    '# Telemetry reference',
    'Made from `libs/telemetry/src/names.ts`; change that and run `npx vitest run libs/telemetry -u`.',
    '## Metrics',
    `Prometheus text at \`GET /metrics\` on the internal port of every process. With \`OTEL_METRICS_EXPORTER=otlp\` they are also
sent to the collector, every \`OTEL_METRIC_EXPORT_INTERVAL\` milliseconds (60,000); those of the runtime have their
OpenTelemetry names there (\`nodejs.eventloop.delay.p99\`, \`v8js.gc.duration\`).`,
    table(['Metric', 'Kind', 'Labels', 'Meaning'], Object.values<MetricDefinition>(everyMetric).map(metricRow)),
    '### Labels',
    table(
      ['Label', 'Meaning'],
      Object.values(label).map((name) => [code(name), labelMeaning[name]]),
    ),
    '## Traces',
    `Sent by OTLP when the environment names a collector (\`OTEL_EXPORTER_OTLP_ENDPOINT\`) or an exporter
(\`OTEL_TRACES_EXPORTER\`) and the process was started with \`--import @parley/telemetry/preload\`, as \`npm start\`, the cluster
and the image do. Sampling, headers and protocol are set by the standard \`OTEL_*\` variables. Every trace says which
\`service.version\` it comes from. Requests, PostgreSQL statements (without values) and Redis commands (without arguments)
are spans by themselves; health checks and scrapes are not traced. A client’s \`traceparent\` is not continued unless
\`server.continueTraces\` says so ([configuration.md](configuration.md)). Besides there are:`,
    table(['Span', 'Meaning'], rows(spanMeaning)),
    '### Span attributes',
    table(['Attribute', 'Meaning'], rows(spanAttributeMeaning)),
    '## Logs',
    `One JSON object per line on standard output, with the facts as fields. Credentials and addresses are blanked. With
\`OTEL_LOGS_EXPORTER=otlp\` the same lines are also sent to the collector.`,
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

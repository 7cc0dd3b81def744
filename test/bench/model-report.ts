import type { Costs, Prediction, reachOf, Used } from './model.ts'

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

export const roundedPeople = (people: number) => Number(people.toPrecision(2)).toLocaleString('en')

const isServer = (name: string) => name === 'postgres' || name === 'redis'

export function renderCosts({ actions, delivery, step, furtherNodeUs, idle, eventBytes }: Costs): string {
  const names = Object.keys(idle).filter((name) =>
    Object.values(actions).some(({ processorUs }) => processorUs[name]! >= 1),
  )
  const cells = (used: Used) => names.map((name) => (used[name] ?? 0).toFixed((used[name] ?? 0) < 10 ? 1 : 0))
  return [
    '### What an action costs in a cluster: microseconds of processor time',
    '',
    table(
      ['Action', ...names, 'events', 'commits', 'flushes', 'reply'],
      [
        ...Object.entries(actions).map(([action, { processorUs, events, commits, flushes, responseBytes }]) => [
          action,
          ...cells(processorUs),
          ...[events, commits, flushes].map((count) => count.toFixed(1)),
          `${(responseBytes / 1_000).toFixed(1)} KB`,
        ]),
        ['an event written to a stream', ...cells(delivery), '', '', '', `${(eventBytes / 1_000).toFixed(1)} KB`],
        ['a step of the relay', ...cells(step), '', '', '', ''],
        ['a second, whatever happens', ...cells(idle), '', '', '', ''],
      ],
    ),
    '',
    `A further realtime node reads every event too. It costs Redis ${furtherNodeUs.toFixed(0)} µs for each step of the relay.`,
  ].join('\n')
}

interface Checked {
  used: Used
  events: number
  deliveries: number
}

export function renderCheck(predicted: Checked, lived: Checked & { seconds: number }): string {
  const row = (name: string, of: (checked: Checked) => number, digits: number) => [
    name,
    ...[predicted, lived].map((checked) => (of(checked) / lived.seconds).toFixed(digits)),
  ]
  return [
    '### Processors in use on this machine, predicted and measured',
    '',
    table(
      ['', 'predicted', 'measured'],
      [
        ...Object.keys(lived.used).map((process) => row(process, ({ used }) => used[process]! / 1e6, 3)),
        row('events a second', ({ events }) => events, 1),
        row('events written to streams a second', ({ deliveries }) => deliveries, 0),
      ],
    ),
  ].join('\n')
}

export function renderPredictions(predictions: readonly Prediction[]): string {
  const row = (name: string, cell: (prediction: Prediction) => string) => [name, ...predictions.map(cell)]
  const services = Object.keys(predictions[0]!.processes)
  const small = services.filter((name) => predictions.every(({ processors }) => processors[name]! < 0.05))
  const numberOf = (processes: number | undefined) => processes?.toFixed(0) ?? 'no number is enough'
  const share = (value: number) => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`
  return [
    '### What larger organisations need, when a process is used by 60 %',
    '',
    table(
      ['People, all connected', ...predictions.map(({ people }) => people.toLocaleString('en'))],
      [
        row('requests a second', ({ requestsPerSecond }) => requestsPerSecond.toFixed(0)),
        row('events a second', ({ eventsPerSecond }) => eventsPerSecond.toFixed(0)),
        row('commits a second', ({ commitsPerSecond }) => commitsPerSecond.toFixed(0)),
        row('of them, with a flush of the log', ({ flushesPerSecond }) => flushesPerSecond.toFixed(0)),
        row('MB a second to clients, not compressed', ({ megabytesPerSecond }) => megabytesPerSecond.toFixed(1)),
        row('GB of memory for streams', ({ streamGigabytes }) => streamGigabytes.toFixed(1)),
        ...services
          .filter((name) => !small.includes(name))
          .map((name) => row(`${name} processes`, ({ processes }) => numberOf(processes[name]))),
        row('gateway processes, with streams past them', ({ gatewaysWithoutStreams }) =>
          numberOf(gatewaysWithoutStreams),
        ),
        ...(small.length === 0 ? [] : [row(`${small.join(', ')}: processes of each`, () => '1')]),
        row('processors of all services', ({ processors }) =>
          Object.entries(processors)
            .reduce((sum, [name, used]) => (isServer(name) ? sum : sum + used), 0)
            .toFixed(1),
        ),
        row('processors of PostgreSQL', ({ processors }) => processors.postgres!.toFixed(2)),
        row('processors of Redis', ({ processors }) => processors.redis!.toFixed(2)),
        row('nearest to its limit', ({ limits }) => `${limits[0]!.name}: ${share(limits[0]!.share)}`),
        row('then', ({ limits }) => `${limits[1]!.name}: ${share(limits[1]!.share)}`),
      ],
    ),
  ].join('\n')
}

export function renderReach(reach: ReturnType<typeof reachOf>): string {
  return [
    '### What breaks first, and what to do then',
    '',
    table(
      ['Limit', 'is reached with', 'What to do then'],
      reach.map(({ name, people, remedy }) => [name, `${roundedPeople(people)} people`, remedy]),
    ),
  ].join('\n')
}

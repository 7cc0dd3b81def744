import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** What a Node.js server does for a request, in the order of the table. */
export const phases = [
  'read sockets',
  'parse HTTP and JSON',
  'route and hooks',
  'token',
  'access',
  'queue and batch',
  'database client',
  'Redis client',
  'forward to a service',
  'connections between processes',
  'reply',
  'relay and streams',
  'telemetry',
  'garbage collection',
  'event loop and natives',
  'other code',
] as const
export type Phase = (typeof phases)[number]

/**
 * The first rule that matches the file and function of a frame applies. A frame that no rule matches belongs to the
 * phase of its caller.
 */
const rules: readonly [RegExp, Phase][] = [
  [/node_modules\/@opentelemetry|libs\/telemetry\//, 'telemetry'],
  [/node_modules\/(jose|fast-jwt)|libs\/identity\//, 'token'],
  [/libs\/access\//, 'access'],
  [
    /node_modules\/(pg|pg-protocol|pg-pool|pg-types|postgres-bytea|kysely)\/|libs\/database\/src\/(connection|pool)/,
    'database client',
  ],
  [/node_modules\/(ioredis|redis-parser|bullmq|standard-as-callback|denque)\/|libs\/redis\//, 'Redis client'],
  [/node_modules\/undici|internal\/deps\/undici|services\/gateway\/src\/proxy\//, 'forward to a service'],
  [/libs\/multiplex\//, 'connections between processes'],
  [/services\/messaging\/src\/sending\//, 'queue and batch'],
  [/libs\/events\/|services\/(realtime|worker)\/src\//, 'relay and streams'],
  [/node_modules\/(fast-json-stringify|@fastify\/compress)|fastify\/lib\/reply|node:_http_outgoing/, 'reply'],
  [/node:_http_server resOnFinish|node:_http_server writeHead/, 'reply'],
  [
    /node_modules\/(secure-json-parse|ajv)|fastify\/lib\/(content-type-parser|validation)|node:_http_(common|incoming|server)/,
    'parse HTTP and JSON',
  ],
  [
    /node_modules\/(fastify|find-my-way|avvio|light-my-request)|libs\/service\/|services\/gateway\/src\//,
    'route and hooks',
  ],
  [/onStreamRead/, 'read sockets'],
  [/services\/|libs\//, 'other code'],
]

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[]
  /** Microseconds of the monotonic clock. */
  startTime: number
  samples: number[]
  timeDeltas: number[]
}

/**
 * Shares of the phases in what a process did between two moments (microseconds of the monotonic clock), from 0 to 1;
 * idle time is left out. Undefined when the directory has no profile of the process.
 */
export async function readPhases(
  directory: string,
  pid: number,
  { fromUs, toUs }: { fromUs: number; toUs: number },
): Promise<Map<Phase, number> | undefined> {
  const file = (await readdir(directory)).find((name) => name.split('.')[3] === String(pid))
  if (file === undefined) return undefined
  const profile: CpuProfile = JSON.parse(await readFile(path.join(directory, file), 'utf8'))
  const phaseOf = judgeNodes(profile)

  const spentUs = new Map<Phase, number>()
  let at = profile.startTime
  for (const [index, id] of profile.samples.entries()) {
    const delta = profile.timeDeltas[index]!
    at += delta
    const phase = phaseOf.get(id)
    if (at < fromUs || at > toUs || phase === undefined) continue
    spentUs.set(phase, (spentUs.get(phase) ?? 0) + delta)
  }
  const all = [...spentUs.values()].reduce((sum, us) => sum + us, 0)
  return new Map([...spentUs].map(([phase, us]) => [phase, us / all]))
}

/** The phase of each node of the call tree, except of idle time. */
function judgeNodes({ nodes }: CpuProfile): Map<number, Phase> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const judged = new Map<number, Phase>()
  const visit = (id: number, inherited: Phase) => {
    const { callFrame, children = [] } = byId.get(id)!
    const { functionName, url } = callFrame
    if (functionName === '(idle)') return
    const own = functionName === '(garbage collector)' ? 'garbage collection' : ruleFor(`${url} ${functionName}`)
    const phase = own ?? inherited
    judged.set(id, phase)
    for (const child of children) visit(child, phase)
  }
  visit(nodes[0]!.id, 'event loop and natives')
  return judged
}

const ruleFor = (frame: string) => rules.find(([pattern]) => pattern.test(frame))?.[1]

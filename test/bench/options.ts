import { parseArgs } from 'node:util'

export interface Options {
  /** Names of the parts to run; all of them when empty. */
  only: readonly string[]
  /** Where to write every figure as JSON. */
  json: string | undefined
  /** Where the Node.js servers leave a CPU profile when they end. */
  profile: string | undefined
  /** Where the databases are kept and found again, instead of being made anew and removed. */
  data: string | undefined
  /** Only fills the databases of the parts that need full ones. */
  fill: boolean
  /** How many times each side is measured. */
  rounds: number
  /** How long one side is measured at a time. */
  seconds: number
  /** Event streams held open in the fan-out rows. */
  streams: number
  /** Event streams held open in the memory row. */
  idleStreams: number
  /** Event streams of `scope=joined` held open in the scope row. */
  scopedStreams: number
  /** Streams of `scope=joined` that are simulated at the hub. */
  simulatedStreams: number
  /** Event streams that are cut at once in the storm rows. */
  stormStreams: number
  /** Events that a node is behind in the row about catching up. */
  catchUpEvents: number
  /** Events that pass a node in the row about its memory. */
  passingEvents: number
  /** Messages that are searched. */
  messages: number
  /** People, channels and clients on the server of the client rows. */
  clientPeople: number
  clientChannels: number
  clientStorm: number
  /** Messages of the channel that the web client shows. */
  webMessages: number
  /** Events that its open page is given. */
  webEvents: number
  /** The numbers of people with which the team load is measured, one after the other. */
  teamPeople: readonly number[]
  /** Number of public messages that the team has posted before the measurement. */
  teamMessages: number
  /** People of the soak row, and how long they stay. */
  soakPeople: number
  soakMinutes: number
}

export const usage = `npm run bench [-- options]
  --only send,fanout   only these parts
  --quick              fewer and shorter rounds, fewer streams and messages: a smoke test, no figures to quote
  --rounds N           how often each side is measured, instead of 5 times
  --data DIR           keep the databases there, and find them again: filling one takes minutes
  --fill               only fill them, with --data: a machine that does other things too will do for that
  --minutes N          how long the soak row lasts, instead of 60
  --json FILE          every figure of every round
  --profile DIR        CPU profiles (.cpuprofile) of the Node.js servers
`

/** @throws TypeError for an unknown option. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      data: { type: 'string' },
      fill: { type: 'boolean', default: false },
      json: { type: 'string' },
      profile: { type: 'string' },
      minutes: { type: 'string' },
    },
  })
  const rounds = wholeNumber('rounds', values.rounds)
  const minutes = wholeNumber('minutes', values.minutes)
  if (values.fill && values.data === undefined) throw new TypeError('--fill: where? Name it with --data')
  return {
    data: values.data,
    fill: values.fill,
    only: values.only?.split(',').map((name) => name.trim()) ?? [],
    json: values.json,
    profile: values.profile,
    ...(values.quick
      ? {
          rounds: 2,
          seconds: 1,
          streams: 500,
          idleStreams: 1_000,
          scopedStreams: 500,
          simulatedStreams: 5_000,
          stormStreams: 500,
          catchUpEvents: 5_000,
          passingEvents: 20_000,
          messages: 50_000,
          clientPeople: 5_000,
          clientChannels: 500,
          clientStorm: 500,
          webMessages: 1_000,
          webEvents: 5_000,
          teamPeople: [250, 500],
          teamMessages: 20_000,
          soakPeople: 250,
          soakMinutes: 1,
        }
      : {
          rounds: 5,
          seconds: 4,
          streams: 2_000,
          idleStreams: 10_000,
          scopedStreams: 5_000,
          simulatedStreams: 100_000,
          stormStreams: 5_000,
          catchUpEvents: 50_000,
          passingEvents: 200_000,
          messages: 1_000_000,
          clientPeople: 50_000,
          clientChannels: 5_000,
          clientStorm: 5_000,
          webMessages: 10_000,
          webEvents: 100_000,
          teamPeople: [2_000, 4_000, 6_500, 8_000, 16_000],
          teamMessages: 200_000,
          soakPeople: 2_000,
          soakMinutes: 60,
        }),
    ...(rounds !== undefined && { rounds }),
    ...(minutes !== undefined && { soakMinutes: minutes }),
  }
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new TypeError(`--${name}: a whole number`)
  return value
}

import type { Message } from '@parley/contract'
import { firstIndex } from './sorted-list.ts'

/** A page of messages from the server, oldest first. */
export interface Page {
  messages: readonly Message[]
  hasOlder: boolean
  hasNewer: boolean
}

/** A range of consecutive messages, without holes: all messages that exist from one `seq` to another. */
interface Run {
  from: number
  /** `Infinity` when the run has the newest messages. Then new messages are added to it. */
  to: number
  /** Oldest first. */
  messages: Message[]
  /** A copy of `messages` for callers. It stays the same array until something changes. */
  shown?: readonly Message[] | undefined
}

export type Timeline = ReturnType<typeof createTimeline>

/**
 * The loaded messages of a channel, conversation or thread. They form runs with holes between them. Runs that touch become one. Each
 * `seq` in the range of a run is either in it, or its message was deleted.
 */
export function createTimeline(onReordered: () => void) {
  let runs: Run[] = []

  /** The run that contains `seq`, or without `seq` the one with the newest messages. */
  const runOf = (seq = Infinity): Run | undefined => runs.find(({ from, to }) => from <= seq && seq <= to)

  /** The index of the first message that is not older than `seq`. */
  const indexOf = ({ messages }: Run, seq: number): number => firstIndex(messages, (message) => message.seq >= seq)

  /** Adds or replaces a message in its run. Ignores a message that belongs to no run. */
  function put(message: Message) {
    const run = runOf(message.seq)
    if (!run) return
    const index = indexOf(run, message.seq)
    if (run.messages[index] === message) return
    const isKnown = run.messages[index]?.seq === message.seq
    run.messages.splice(index, isKnown ? 1 : 0, message)
    run.shown = undefined
    if (!isKnown) onReordered()
  }

  function remove(seq: number) {
    const run = runOf(seq)
    const index = run ? indexOf(run, seq) : -1
    if (!run || run.messages[index]?.seq !== seq) return
    run.messages.splice(index, 1)
    run.shown = undefined
    onReordered()
  }

  /** Adds a range, and joins it with all runs that overlap with it or touch it. */
  function addRange(from: number, to: number) {
    const touching = runs.filter((run) => run.from <= to + 1 && from <= run.to + 1)
    const joined: Run = {
      from: Math.min(from, ...touching.map((run) => run.from)),
      to: Math.max(to, ...touching.map((run) => run.to)),
      messages: touching.flatMap(({ messages }) => messages),
    }
    runs = [...runs.filter((run) => !touching.includes(run)), joined].sort((one, next) => one.from - next.from)
    onReordered()
  }

  /**
   * One end of a run, beside which the next page is fetched: the `seq` up to which the run reaches, and its outermost message, if not all of
   * its messages were deleted.
   */
  function end(side: 'before' | 'after', seq?: number) {
    const run = runOf(seq)
    if (!run) return undefined
    const { from, to, messages } = run
    return side === 'before'
      ? { seq: from, message: messages[0], hasMore: from > 1 }
      : { seq: to, message: messages.at(-1), hasMore: to !== Infinity }
  }

  return {
    /** Whether the newest messages are loaded, or with `seq` the messages around it. */
    isLoaded: (seq?: number) => runOf(seq) !== undefined,
    put,
    remove,

    /**
     * Adds the range of a page. Its messages must be added with `put` afterwards. The range reaches from the first message to the last.
     * It has no end on a side where the server has no more messages. A page that was fetched `beside` a run reaches up to that run.
     */
    cover({ messages, hasOlder, hasNewer }: Page, beside: { after?: number; before?: number } = {}) {
      const from = beside.after ?? (hasOlder && messages.length > 0 ? messages[0]!.seq : 0)
      const to = beside.before ?? (hasNewer && messages.length > 0 ? messages.at(-1)!.seq : Infinity)
      addRange(from, to)
    },
    /** Forgets every message. */
    clear() {
      if (runs.length === 0) return
      runs = []
      onReordered()
    },

    /** The newest run, or the run that contains `seq`, oldest message first. Undefined when it is not loaded. */
    messages(seq?: number): readonly Message[] | undefined {
      const run = runOf(seq)
      if (run) run.shown ??= [...run.messages]
      return run?.shown
    },
    /** False also while this is not known. */
    hasOlder: (seq?: number) => end('before', seq)?.hasMore === true,
    hasNewer: (seq?: number) => end('after', seq)?.hasMore === true,
    end,
    all: () => runs.flatMap(({ messages }) => messages),
    /**
     * When the newest run has more than `most` messages, forgets the oldest ones until half of `most` are left. Returns
     * the forgotten messages.
     */
    trim(most: number): readonly Message[] {
      const run = runOf()
      if (!run || run.messages.length <= most) return []
      const dropped = run.messages.splice(0, run.messages.length - Math.ceil(most / 2))
      run.from = run.messages[0]!.seq
      run.shown = undefined
      onReordered()
      return dropped
    },
    /** The part that is stored: the newest messages. */
    toStore(most: number) {
      const run = runOf()
      if (!run) return undefined
      const messages = run.messages.slice(-most)
      return { from: messages.length < run.messages.length ? messages[0]!.seq : run.from, messages }
    },
    restore({ from, messages }: { from: number; messages: Message[] }) {
      runs = [{ from, to: Infinity, messages }]
    },
  }
}

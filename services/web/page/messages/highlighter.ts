import { workerAddress } from '../offline/worker-address.ts'
import address from './highlighter-worker.ts?worker&url'

export type CodeKind = 'keyword' | 'string' | 'comment' | 'number' | 'name' | 'type' | 'added' | 'removed'
/** Text and what it is, null for everything without a colour of its own. */
export type CodePiece = [kind: CodeKind | null, text: string]
export interface CodeToHighlight {
  language: string
  text: string
}

/** Longer texts get no colours, nor do texts that would become more elements than this. */
const mostCharacters = 8_000
const mostPieces = 1_500
/** A text gets no colours when the library, once it is loaded, needs more time than this. */
const patienceMs = 1_000
/** After so long the script of the worker counts as one that cannot be loaded. */
const loadingMs = 30_000
const mostRemembered = 100

/** Resolves when its script is loaded. */
let worker: Promise<Worker> | undefined
let last: Promise<unknown> = Promise.resolve()
const found = new Map<string, readonly CodePiece[] | null>()
const keyOf = ({ language, text }: CodeToHighlight) => `${language} ${text}`

/** What was found already. */
export const knownPieces = (code: CodeToHighlight) => found.get(keyOf(code)) ?? null

/**
 * The parts of a code, one after the other; null when it gets no colours. The library runs in a worker, loaded with the first code. When
 * that fails, the next code tries again.
 */
export function findPieces(code: CodeToHighlight): Promise<readonly CodePiece[] | null> {
  const key = keyOf(code)
  if (found.has(key) || code.text.length > mostCharacters) return Promise.resolve(found.get(key) ?? null)
  const asked = last.then(async () => {
    const ready = await startWorker()
    if (!ready) return null
    const pieces = await ask(ready, code)
    const isSmall = pieces !== null && pieces.length <= mostPieces
    found.set(key, isSmall ? pieces : null)
    if (found.size > mostRemembered) found.delete(found.keys().next().value!)
    return found.get(key) ?? null
  })
  last = asked
  return asked
}

/** Undefined when the script of the worker cannot be loaded. */
async function startWorker(): Promise<Worker | undefined> {
  worker ??= new Promise((resolve, reject) => {
    const starting = new Worker(workerAddress(address))
    const giveUp = () => {
      clearTimeout(timer)
      starting.terminate()
      reject()
    }
    const timer = setTimeout(giveUp, loadingMs)
    starting.onmessage = () => {
      clearTimeout(timer)
      resolve(starting)
    }
    starting.onerror = giveUp
  })
  try {
    return await worker
  } catch {
    worker = undefined
    return undefined
  }
}

function ask(ready: Worker, code: CodeToHighlight): Promise<readonly CodePiece[] | null> {
  return new Promise((resolve) => {
    const giveUp = () => {
      ready.terminate()
      worker = undefined
      finish(null)
    }
    const timer = setTimeout(giveUp, patienceMs)
    const finish = (pieces: readonly CodePiece[] | null) => {
      clearTimeout(timer)
      resolve(pieces)
    }
    ready.onmessage = ({ data }: MessageEvent<readonly CodePiece[] | null>) => finish(data)
    ready.onerror = giveUp
    ready.postMessage(code)
  })
}

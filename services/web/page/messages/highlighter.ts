import { workerAddress } from '../offline/worker-address.ts'
import address from './highlighter-worker.ts?worker&url'

export type CodeKind = 'keyword' | 'string' | 'comment' | 'number' | 'name' | 'type' | 'added' | 'removed'
/** A part of the code and its kind. The kind is null for text that is not highlighted. */
export type CodePiece = [kind: CodeKind | null, text: string]
export interface CodeToHighlight {
  language: string
  text: string
}

/** Code with more characters is not highlighted, nor is code that would need more elements than this. */
const maxCharacters = 8_000
const maxPieces = 1_500
/** Code is not highlighted when the library needs more time than this. The time for loading the library does not count. */
const highlightTimeoutMs = 1_000
/** The time limit for loading the script of the worker. */
const loadTimeoutMs = 30_000
const maxRemembered = 100

/** The worker. It resolves when its script is loaded. */
let worker: Promise<Worker> | undefined
/** The last request to the worker, which gets one text at a time. */
let lastRequest: Promise<unknown> = Promise.resolve()
const found = new Map<string, readonly CodePiece[] | null>()
const keyOf = ({ language, text }: CodeToHighlight) => `${language} ${text}`

/** The parts of code that was highlighted before. */
export const knownPieces = (code: CodeToHighlight) => found.get(keyOf(code)) ?? null

/**
 * Finds the parts of code. Null when the code is not highlighted. The library runs in a web worker, which is started for the first code.
 * If the start fails, the next code tries again.
 */
export function findPieces(code: CodeToHighlight): Promise<readonly CodePiece[] | null> {
  const key = keyOf(code)
  if (found.has(key) || code.text.length > maxCharacters) return Promise.resolve(found.get(key) ?? null)
  const result = lastRequest.then(async () => {
    const ready = await startWorker()
    if (!ready) return null
    const pieces = await highlight(ready, code)
    const isSmall = pieces !== null && pieces.length <= maxPieces
    found.set(key, isSmall ? pieces : null)
    if (found.size > maxRemembered) found.delete(found.keys().next().value!)
    return found.get(key) ?? null
  })
  lastRequest = result
  return result
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
    const timer = setTimeout(giveUp, loadTimeoutMs)
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

function highlight(ready: Worker, code: CodeToHighlight): Promise<readonly CodePiece[] | null> {
  return new Promise((resolve) => {
    const giveUp = () => {
      ready.terminate()
      worker = undefined
      finish(null)
    }
    const timer = setTimeout(giveUp, highlightTimeoutMs)
    const finish = (pieces: readonly CodePiece[] | null) => {
      clearTimeout(timer)
      resolve(pieces)
    }
    ready.onmessage = ({ data }: MessageEvent<readonly CodePiece[] | null>) => finish(data)
    ready.onerror = giveUp
    ready.postMessage(code)
  })
}

import { type Client, RequestFailed, type RequestOptions } from '@parley/client'
import { createLimiter } from '@parley/limiter'
import { type Signal, signal } from '@preact/signals'
import { t } from '../texts/texts.ts'
import { announce } from '../ui/announced.ts'
import { maxAttachments } from '../ui/limits.ts'
import { showProblem, textOf } from '../ui/problems.ts'
import { isTemporary } from '../ui/retries.ts'

/** A file that was chosen for a message. It is uploaded immediately, and the message is sent after the upload. */
export interface ChosenFile {
  id: string
  /** The channel or conversation for which it is uploaded. */
  channelId: string
  file: File
  /** Images become images of the message. All other files become attachments. */
  isImage: boolean
  state: Signal<{ sent: number } | { filename: string } | Failure>
  /** Resolves when the upload has ended, with or without success. */
  settled: Promise<void>
  abort: () => void
}

interface Failure {
  failure: string
  /** Whether another upload may succeed, for instance because the server could not be reached. */
  isTemporary: boolean
}

/** The page holds an image in memory while it is uploaded, and the server refuses many uploads of one person at once. */
const inTurn = createLimiter(3)

let lastId = 0

const loadSender = () =>
  import('./send-file.ts').catch((error) => {
    throw RequestFailed.noResponse(error)
  })

/** Starts the upload of a file for a channel or conversation. */
function upload(client: Client, channelId: string, file: File): ChosenFile {
  const controller = new AbortController()
  const state: ChosenFile['state'] = signal({ sent: 0 })
  const isImage = /\.(png|jpe?g|webp|svg)$/i.test(file.name)
  const options: RequestOptions = {
    signal: controller.signal,
    onProgress: ({ sentBytes, totalBytes }) => {
      state.value = { sent: sentBytes / Math.max(1, totalBytes) }
    },
  }
  const send = async () => {
    const { sendFile, sendImage } = await loadSender()
    return isImage ? sendImage(client, channelId, file, options) : sendFile(client, file, options)
  }
  const settled = inTurn(send).then(
    (filename) => {
      state.value = { filename }
      announce(t('The file is attached'))
    },
    (error) => {
      if (controller.signal.aborted) return
      state.value = { failure: textOf(error), isTemporary: error instanceof RequestFailed && isTemporary(error) }
    },
  )
  return { id: `file-${++lastId}`, channelId, file, isImage, state, settled, abort: () => controller.abort() }
}

/** Why a file was not uploaded, or undefined. */
export const failureOf = ({ state: { value } }: ChosenFile): Failure | undefined =>
  'failure' in value ? value : undefined

export const isUploading = ({ state }: ChosenFile) => 'sent' in state.value

/** The properties of a message for its uploaded files. */
export function filesOfMessage(files: readonly ChosenFile[]) {
  const namesOf = (some: readonly ChosenFile[]) =>
    some.flatMap(({ state: { value } }) => ('filename' in value ? value.filename : []))
  const images = namesOf(files.filter(({ isImage }) => isImage))
  const attachments = namesOf(files.filter(({ isImage }) => !isImage)).map((filename) => ({ filename }))
  return { ...(images.length > 0 && { images }), ...(attachments.length > 0 && { attachments }) }
}

const askBeforeLeaving = (event: BeforeUnloadEvent) => event.preventDefault()

interface FilesOfDestination {
  files: Signal<readonly ChosenFile[]>
  /** Set while a message waits for the upload of its files. Each wait is another object. */
  wait: Signal<object | null>
}

export type ChosenFiles = ReturnType<typeof createChosenFiles>

/** The chosen files by destination: a channel, conversation or thread. They stay when the person opens another one. */
export function createChosenFiles(client: Client) {
  const byDestination = new Map<string, FilesOfDestination>()
  function filesOf(destinationId: string): FilesOfDestination {
    const known = byDestination.get(destinationId)
    if (known) return known
    const added = { files: signal<readonly ChosenFile[]>([]), wait: signal<object | null>(null) }
    byDestination.set(destinationId, added)
    added.files.subscribe(askWhileChosen)
    return added
  }
  /** While there are files, the browser asks before the page is left, because only the page has them. */
  function askWhileChosen() {
    // A page with such a listener is not kept for "back".
    removeEventListener('beforeunload', askBeforeLeaving)
    for (const { files } of byDestination.values())
      if (files.peek().length > 0) addEventListener('beforeunload', askBeforeLeaving)
  }

  return {
    of: (destinationId: string) => filesOf(destinationId).files.value,
    isWaiting: (destinationId: string) => filesOf(destinationId).wait.value !== null,
    /** Waits until all files are uploaded. Resolves to false when the wait was ended, or when another one has begun. */
    async untilUploaded(destinationId: string): Promise<boolean> {
      const { files, wait } = filesOf(destinationId)
      const own = {}
      wait.value = own
      await Promise.all(files.value.map(({ settled }) => settled))
      if (wait.value !== own) return false
      wait.value = null
      return true
    },
    stopWaiting(destinationId: string) {
      filesOf(destinationId).wait.value = null
    },
    /** Adds files for a channel or conversation, or for one of its threads. They are uploaded for `channelId`. Returns those that were accepted. */
    add(destinationId: string, channelId: string, chosen: Iterable<File> | null | undefined): ChosenFile[] {
      const { files } = filesOf(destinationId)
      const all = [...(chosen ?? [])]
      // The server takes as many images besides, but nobody counts them apart.
      const accepted = all.slice(0, Math.max(0, maxAttachments - files.peek().length))
      if (accepted.length < all.length) showProblem(t('A message has at most 50 files'))
      const added = accepted.map((file) => upload(client, channelId, file))
      if (added.length > 0) files.value = [...files.value, ...added]
      return added
    },
    /** Uploads the files again that could not be uploaded during an outage. */
    retry(destinationId: string) {
      const { files } = filesOf(destinationId)
      files.value = files.value.map((each) =>
        failureOf(each)?.isTemporary ? upload(client, each.channelId, each.file) : each,
      )
    },
    remove(destinationId: string, file: ChosenFile) {
      file.abort()
      const { files } = filesOf(destinationId)
      files.value = files.value.filter((one) => one !== file)
    },
    /** Forgets the files, because they belong to a message now. */
    clear(destinationId: string) {
      const { files, wait } = filesOf(destinationId)
      files.value = []
      wait.value = null
    },
    /** Adds files again whose message could not be stored. */
    putBack(destinationId: string, chosen: readonly ChosenFile[]) {
      const { files } = filesOf(destinationId)
      files.value = [...chosen, ...files.value]
    },
    /** Ends all uploads and waits, because the session has ended. The files stay for another sign-in of the person. */
    pause() {
      for (const { files, wait } of byDestination.values()) {
        wait.value = null
        for (const file of files.value) file.abort()
      }
    },
    /** Begins the uploads again that `pause` has ended. */
    resume() {
      for (const { files } of byDestination.values())
        files.value = files.value.map((each) => (isUploading(each) ? upload(client, each.channelId, each.file) : each))
    },
    /** Forgets the files. */
    forget() {
      for (const { files } of byDestination.values()) files.value = []
    },
  }
}

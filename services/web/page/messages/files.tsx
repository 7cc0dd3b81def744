import type { Attachment, Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { attempt } from '../app/problems.ts'
import type { Workspace } from '../app/workspace.ts'
import { sizeOf } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Icon } from '../ui/icons.tsx'

interface FilesProps {
  message: Message
  workspace: Workspace
}

/** What a message carries: images are shown, other files are links that download. */
export function Files({ message, workspace }: FilesProps) {
  const { attachments } = message
  if (attachments.length === 0) return null
  return (
    <div class="files">
      {attachments.map((attachment) =>
        isShownAsImage(attachment) ? (
          <ImageFile key={attachment.filename} attachment={attachment} workspace={workspace} />
        ) : (
          <DownloadLink key={attachment.filename} attachment={attachment} workspace={workspace} />
        ),
      )}
    </div>
  )
}

// SVG is never shown: it may hold script.
const isShownAsImage = ({ contentType }: Attachment) => /^image\/(png|jpeg|gif|webp|avif)$/.test(contentType)

function DownloadLink({
  attachment: { filename, originalName, size },
  workspace,
}: {
  attachment: Attachment
  workspace: Workspace
}) {
  async function download(event: MouseEvent) {
    event.preventDefault()
    event.stopPropagation()
    const blob = await attempt(workspace.client.request('GET /files/:filename', { params: { filename } }))
    if (!blob) return
    const url = URL.createObjectURL(blob)
    const link = Object.assign(document.createElement('a'), { href: url, download: originalName })
    link.click()
    // The download has begun by then; the address is not needed any more.
    setTimeout(() => URL.revokeObjectURL(url), 60_000)
  }
  return (
    <a class="file" href={`/files/${encodeURIComponent(filename)}`} download={originalName} onClick={download}>
      <Icon name="file" />
      <span dir="auto">{originalName}</span>
      <span class="quiet">{sizeOf(size)}</span>
    </a>
  )
}

function ImageFile({
  attachment: { filename, originalName },
  workspace,
}: {
  attachment: Attachment
  workspace: Workspace
}) {
  const isOpen = useSignal(false)
  const url = useImage(workspace, filename)
  return (
    <>
      <button type="button" class="image-button" onClick={() => (isOpen.value = true)} disabled={url === undefined}>
        <img src={url} alt={originalName} width={320} height={200} />
      </button>
      {isOpen.value && (
        <Dialog name={originalName} class="viewer" onClose={() => (isOpen.value = false)}>
          <img src={url} alt={originalName} />
        </Dialog>
      )}
    </>
  )
}

/** The bytes need the access token, so they are fetched and shown from memory. */
function useImage(workspace: Workspace, filename: string): string | undefined {
  const url = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const leaving = new AbortController()
    void workspace.client
      .request('GET /files/:filename', { params: { filename }, signal: leaving.signal })
      .then((blob) => {
        if (!leaving.signal.aborted) url.value = URL.createObjectURL(blob)
      })
      .catch(() => {
        // The alternative text stands in for an image that cannot be fetched.
      })
    return () => {
      leaving.abort()
      if (url.value !== undefined) URL.revokeObjectURL(url.value)
    }
  }, [filename])
  return url.value
}

import type { Attachment, Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import type { Workspace } from '../app/workspace.ts'
import { sizeOf, t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { save } from '../ui/download.ts'
import { Icon } from '../ui/icons.tsx'
import { attempt } from '../ui/problems.ts'
import { fetchImage, useImage } from './images.ts'

interface FilesProps {
  message: Message
  workspace: Workspace
}

/** The files of a message. Images are shown. Other files are links that download them. */
export function Files({ message, workspace }: FilesProps) {
  const { attachments, images, channelId, imageSizes = {} } = message
  const { client } = workspace
  return (
    <div class="files">
      {images.map((filename) => (
        <ShownImage
          key={filename}
          name={shownName(filename)}
          size={imageSizes[filename]}
          load={(signal, isWhole) =>
            fetchImage(workspace, { channelId, filename, ...(!isWhole && { size: 'thumb' }) }, signal)
          }
        />
      ))}
      {attachments.map((attachment) =>
        isShownAsImage(attachment) ? (
          <ShownImage
            key={attachment.filename}
            name={attachment.originalName}
            size={imageSizes[attachment.filename]}
            load={(signal) =>
              client.request('GET /files/:filename', { params: { filename: attachment.filename }, signal })
            }
          />
        ) : (
          <DownloadLink key={attachment.filename} attachment={attachment} workspace={workspace} />
        ),
      )}
    </div>
  )
}

/** The name of the image without the id in front of it. */
const shownName = (filename: string) => filename.replace(/^[0-9a-f-]{36}-/, '')

// SVG files are never shown, because they may contain scripts.
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
    if (blob) save(blob, originalName)
  }
  return (
    <a class="file" href={`/files/${encodeURIComponent(filename)}`} download={originalName} onClick={download}>
      <Icon name="file" />
      <span class="name" dir="auto">
        {originalName}
      </span>
      <span class="quiet">{sizeOf(size)}</span>
    </a>
  )
}

interface ShownImageProps {
  /** The name of the file. */
  name: string
  size: [width: number, height: number] | undefined
  load: (signal: AbortSignal, isWhole: boolean) => Promise<Blob>
}

/** The largest size of a shown image, in pixels. The space is reserved before the image is loaded, so that the layout does not shift. */
const maxWidth = 360
const maxHeight = 240

function ShownImage({ name, size, load }: ShownImageProps) {
  const isOpen = useSignal(false)
  const url = useImage(name, (signal) => load(signal, false))
  const [width, height] = fit(size ?? [maxWidth, maxHeight])
  return (
    <>
      <button
        type="button"
        class="image-button"
        style={{ '--width': `${width}px`, '--ratio': `${width} / ${height}` }}
        onClick={() => (isOpen.value = true)}
      >
        <img src={url} alt={name} />
      </button>
      {isOpen.value && (
        <Viewer
          name={name}
          preview={url}
          load={(signal) => load(signal, true)}
          onClose={() => (isOpen.value = false)}
        />
      )}
    </>
  )
}

interface ViewerProps {
  name: string
  preview: string | undefined
  load: (signal: AbortSignal) => Promise<Blob>
  onClose: () => void
}

function Viewer({ name, preview, load, onClose }: ViewerProps) {
  const url = useImage(name, load)
  return (
    <Dialog name={name} class="viewer" onClose={onClose}>
      <img src={url ?? preview} alt={name} />
      <div class="dialog-actions">
        <a class="button" href={url} download={name}>
          {t('Download')}
        </a>
      </div>
    </Dialog>
  )
}

function fit([width, height]: [number, number]): [number, number] {
  const scale = Math.min(1, maxWidth / width, maxHeight / height)
  return [Math.max(24, Math.round(width * scale)), Math.max(24, Math.round(height * scale))]
}

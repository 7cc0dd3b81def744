import type { Attachment, Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { createPart } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'
import { sizeOf } from '../texts/formats.ts'
import { save } from '../ui/download.ts'
import { Icon } from '../ui/icons.tsx'
import { attempt } from '../ui/problems.ts'
import { imageName } from './file-names.ts'
import type { Picture } from './image-viewer.tsx'
import { fetchImage, mostPixels, useImage } from './images.ts'

interface FilesProps {
  id: string
  message: Message
  workspace: Workspace
}

/** The files of a message. Images are shown. Other files are links that download them. */
export function Files({ id, message, workspace }: FilesProps) {
  const opened = useSignal<number | null>(null)
  const pictures = picturesOf(message, workspace)
  const others = message.attachments.filter((attachment) => !isShownAsImage(attachment))
  return (
    <div class="files" id={id}>
      {pictures.map((picture, index) => (
        <ShownImage key={picture.filename} picture={picture} onOpen={() => (opened.value = index)} />
      ))}
      {others.map((attachment) => (
        <DownloadLink key={attachment.filename} attachment={attachment} workspace={workspace} />
      ))}
      {opened.value !== null && (
        <LoadedDialog
          name={pictures[opened.value]?.name ?? ''}
          part={viewer}
          onClose={() => (opened.value = null)}
          render={({ ImageViewer }) => (
            <ImageViewer pictures={pictures} first={opened.value!} onClose={() => (opened.value = null)} />
          )}
        />
      )}
    </div>
  )
}

const viewer = createPart(() => import('./image-viewer.tsx'))
const brokenImage = createPart(() => import('./broken-image.tsx').then((part) => part.BrokenImage))

function picturesOf({ attachments, images, channelId, imageSizes = {} }: Message, workspace: Workspace): Picture[] {
  return [
    ...images.map((filename) => ({
      filename,
      name: imageName(filename),
      size: imageSizes[filename],
      isRisky: isRisky(filename, imageSizes[filename]),
      load: (signal: AbortSignal) => fetchImage(workspace, { channelId, filename }, signal),
      loadPreview: (signal: AbortSignal) => fetchImage(workspace, { channelId, filename, size: 'thumb' }, signal),
    })),
    ...attachments.filter(isShownAsImage).map(({ filename, originalName }) => ({
      filename,
      name: originalName,
      size: imageSizes[filename],
      isRisky: isRisky(filename, imageSizes[filename]),
      load: (signal: AbortSignal) => workspace.client.request('GET /files/:filename', { params: { filename }, signal }),
    })),
  ]
}

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

/** The largest size of a shown image, in pixels. The space is reserved before the image is loaded, so that the layout does not shift. */
const maxWidth = 360
const maxHeight = 240
/** A drawing of some kilobytes can refer to its own parts so often that the page stops for hours. */
const drawing = /svg$/
const isRisky = (filename: string, size: Picture['size']) =>
  drawing.test(filename) || (size !== undefined && size[0] * size[1] > mostPixels)

/** The smallest width and height, so that a narrow image can be pressed. */
const minSide = 24

/** An image, or its name until it is loaded. One that the browser cannot show looks like any other file. */
function ShownImage({ picture, onOpen }: { picture: Picture; onOpen: () => void }) {
  const { filename, name, size, isRisky, load, loadPreview = load } = picture
  const isBroken = useSignal(false)
  const setBroken = () => {
    isBroken.value = true
  }
  // A risky image is fetched only when the person opens it. Until then there is space for the name.
  const url = useImage(filename, isRisky ? undefined : loadPreview, setBroken)
  const Broken = isBroken.value ? brokenImage() : 'loading'
  if (typeof Broken === 'function') return <Broken picture={picture} onOpen={onOpen} />
  const [width, height] = fit(size && !isRisky ? size : [maxWidth, maxHeight])
  return (
    <button
      type="button"
      class="image-button"
      style={{ '--width': `${width}px`, '--ratio': `${width} / ${height}` }}
      onClick={onOpen}
    >
      <img src={isBroken.value ? undefined : url} alt={name} onError={setBroken} />
      <span class="image-name" aria-hidden="true">
        <Icon name="file" />
        <bdi>{name}</bdi>
      </span>
    </button>
  )
}

function fit([width, height]: [number, number]): [number, number] {
  const scale = Math.min(1, maxWidth / width, maxHeight / height)
  return [Math.max(minSide, Math.round(width * scale)), Math.max(minSide, Math.round(height * scale))]
}

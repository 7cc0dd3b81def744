import { createPart } from '../app/part.ts'
import type { ChosenFile } from '../app/uploads.ts'
import { sizeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { Icon, IconButton } from '../ui/icons.tsx'

interface ChosenFilesProps {
  files: readonly ChosenFile[]
  onRemove: (file: ChosenFile) => void
}

/** The files of the message that is being written, each with its progress. */
export function ChosenFileList({ files, onRemove }: ChosenFilesProps) {
  if (files.length === 0) return null
  return (
    <ul class="chosen-files">
      {files.map((chosen) => (
        <li key={chosen.id} class="chosen-file">
          {isPicture.test(chosen.file.type) && <Thumbnail file={chosen.file} />}
          <span class="name" dir="auto">
            {chosen.file.name}
          </span>
          <span class="quiet">{sizeOf(chosen.file.size)}</span>
          <Progress chosen={chosen} />
          <IconButton
            icon="close"
            name={t('Remove {name}', { name: chosen.file.name })}
            onClick={() => onRemove(chosen)}
          />
        </li>
      ))}
    </ul>
  )
}

/** A drawing (SVG) of some kilobytes may stop the page for hours. */
const isPicture = /^image\/(?!svg)/
const thumbnail = createPart(() => import('./chosen-thumbnail.tsx').then((part) => part.ChosenThumbnail))

/** The space of the thumbnail has an icon until it is there, so that nothing moves. */
function Thumbnail({ file }: { file: File }) {
  const Loaded = thumbnail()
  return (
    <span class="thumbnail">
      <Icon name="file" />
      {typeof Loaded === 'function' && <Loaded file={file} />}
    </span>
  )
}

function Progress({ chosen: { file, state } }: { chosen: ChosenFile }) {
  const { value } = state
  if ('failure' in value) {
    return (
      <span class="send-state" data-failed role="alert">
        {value.failure}
      </span>
    )
  }
  if (!('sent' in value)) return null
  const percent = Math.round(value.sent * 100)
  return (
    <span
      class="quiet"
      role="progressbar"
      aria-label={file.name}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      {percent} %
    </span>
  )
}

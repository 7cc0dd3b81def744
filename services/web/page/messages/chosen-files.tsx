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
          <FileState chosen={chosen} />
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

function FileState({ chosen: { file, state } }: { chosen: ChosenFile }) {
  const { value } = state
  const about = (
    <>
      <span class="name" dir="auto">
        {file.name}
      </span>
      <span class="quiet">{sizeOf(file.size)}</span>
    </>
  )
  if ('failure' in value) {
    // A screen reader reads only what is in the alert, so the name is in it.
    return (
      <div class="failed-file" role="alert">
        {about}
        <span class="send-state" data-failed>
          {value.failure}
        </span>
      </div>
    )
  }
  return (
    <>
      {about}
      {'sent' in value && <Progress name={file.name} percent={Math.round(value.sent * 100)} />}
    </>
  )
}

const Progress = ({ name, percent }: { name: string; percent: number }) => (
  <span
    class="quiet"
    role="progressbar"
    aria-label={name}
    aria-valuemin={0}
    aria-valuemax={100}
    aria-valuenow={percent}
  >
    {percent} %
  </span>
)

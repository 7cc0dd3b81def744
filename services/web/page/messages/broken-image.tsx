import { t } from '../texts/texts.ts'
import { save } from '../ui/download.ts'
import { Icon } from '../ui/icons.tsx'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import type { Picture } from './image-viewer.tsx'

interface BrokenImageProps {
  picture: Picture
  onOpen: () => void
}

/**
 * An image that the server refuses, or whose bytes the browser cannot show. It can be downloaded. It still opens the viewer, because
 * sometimes only the smaller version is missing.
 */
export const BrokenImage = ({ picture: { name, load }, onOpen }: BrokenImageProps) => (
  <>
    <button type="button" class="file" onClick={onOpen}>
      <img class="visually-hidden" alt={name} />
      <Icon name="file" />
      <bdi class="name" aria-hidden="true">
        {name}
      </bdi>
      <span class="quiet">{t('This image cannot be shown')}</span>
    </button>
    <RequestButton
      name={t('Download {name}', { name })}
      onRequest={async () => {
        const bytes = await attempt(load(new AbortController().signal))
        if (bytes) save(bytes, name)
      }}
    >
      {t('Download')}
    </RequestButton>
  </>
)

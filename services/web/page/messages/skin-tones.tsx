import { withTone } from '../emoji/emoji.ts'
import { setTone } from '../emoji/remember-emoji.ts'
import { type Tone, tones } from '../emoji/tones.ts'
import { t } from '../texts/texts.ts'
import { useUniqueId } from '../ui/unique-id.ts'

/** The choice of the skin tone. A `<select>` would be a second combobox beside the search field. */
export function SkinTones({ chosen }: { chosen: Tone }) {
  const name = useUniqueId()
  return (
    <div class="emoji-tones" role="radiogroup" aria-label={t('Skin tone')}>
      {tones.map((tone) => (
        <label key={tone} title={nameOf(tone)}>
          <input
            type="radio"
            name={name}
            aria-label={nameOf(tone)}
            checked={tone === chosen}
            onChange={() => setTone(tone)}
          />
          {withTone({ emoji: '✋', hasTones: true }, tone)}
        </label>
      ))}
    </div>
  )
}

const nameOf = (tone: Tone) =>
  [t('Yellow'), t('Light'), t('Medium light'), t('Medium'), t('Medium dark'), t('Dark')][tone]

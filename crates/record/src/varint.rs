//! Numbers in as few bytes as they need: seven bits a byte, little end first, the highest bit of a byte says that
//! another one follows. For packed bytes of record pages and session ranges; other tables have columns.

/// Bits of a number in each byte.
const GROUP_BITS: u32 = 7;

/// Appends a number.
pub(crate) fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >> GROUP_BITS != 0 {
        bytes.push(0x80 | low_bits(number));
        number >>= GROUP_BITS;
    }
    bytes.push(low_bits(number));
}

fn low_bits(number: u64) -> u8 {
    (number & 0x7f) as u8
}

/// The number that these bytes begin with, and the rest; `None` if they do not begin with one of 64 bits.
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let shift = GROUP_BITS * u32::try_from(index).ok()?;
        let bits = u64::from(byte & 0x7f);
        if shift >= u64::BITS || bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some((number, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn numbers_come_back_and_others_are_refused() {
        for number in [0, 1, 127, 128, 300, 16_383, 16_384, 1 << 35, u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            assert_eq!(bytes.len(), (64 - (number | 1).leading_zeros()).div_ceil(7) as usize);
            bytes.push(9);
            assert_eq!(read(&bytes), Some((number, &[9][..])));
            bytes.pop();
            assert_eq!(read(&bytes[..bytes.len() - 1]), None, "cut off");
        }
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x80; 9]), None);
        assert_eq!(read(&[&[0xff; 9][..], &[2]].concat()), None, "66 bits");
        assert_eq!(read(&[&[0x80; 10][..], &[0]].concat()), None, "no number has eleven bytes");
    }
}

//! The functions of network addresses. Arguments are texts, which are read as `inet`; a constant is read once for all
//! rows.

use super::address::NetworkAddress;
use super::address_text::{abbreviated, host, read, with_mask, written};
use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::{strictly, value_in_row, values_of_texts};
use crate::functions::base::text_types::{AddressType, TextType};
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use datafusion::arrow::array::{ArrayRef, AsArray, BinaryArray, BooleanArray, Int32Array, Int64Array, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The SQL functions of network addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AddressCall {
    /// Reads a text.
    Read(AddressType),
    /// Returns a value unchanged.
    Declare(AddressType),
    /// Bytes in the order of addresses.
    Key,
    /// The address with a key.
    OfKey(AddressType),
    /// The text with the length of the mask, as a cast to text has it.
    Text,
    Abbreviation(AddressType),
    Broadcast,
    Family,
    Host,
    HostMask,
    MaskLength,
    NetMask,
    Network,
    SetMaskLength(AddressType),
    Merge,
    SameFamily,
    /// `<<`
    IsStrictlyWithin,
    /// `<<=`
    IsWithin,
    /// `&&`
    Overlaps,
    /// `~`
    Not,
    /// `&`
    And,
    /// `|`
    Or,
    /// `+`
    Add,
    /// `-` with a number.
    Subtract,
    /// `-` of two addresses.
    Difference,
}

/// The kinds of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Argument {
    Address,
    Integer,
    Key,
}

impl AddressCall {
    /// The calls that have a name in SQL, or that statements are rewritten to.
    pub(crate) const NAMED: [Self; 15] = [
        Self::Read(AddressType::Inet),
        Self::Read(AddressType::Cidr),
        Self::Abbreviation(AddressType::Inet),
        Self::Broadcast,
        Self::Family,
        Self::Host,
        Self::HostMask,
        Self::MaskLength,
        Self::NetMask,
        Self::Network,
        Self::SetMaskLength(AddressType::Inet),
        Self::Merge,
        Self::SameFamily,
        Self::Overlaps,
        Self::Not,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Read(AddressType::Inet) => "inet_of",
            Self::Read(AddressType::Cidr) => "cidr_of",
            Self::Declare(AddressType::Inet) => "declared_inet",
            Self::Declare(AddressType::Cidr) => "declared_cidr",
            Self::Key => "address_key",
            Self::OfKey(_) => "address_of_key",
            Self::Text => "address_text",
            Self::Abbreviation(_) => "abbrev",
            Self::Broadcast => "broadcast",
            Self::Family => "family",
            Self::Host => "host",
            Self::HostMask => "hostmask",
            Self::MaskLength => "masklen",
            Self::NetMask => "netmask",
            Self::Network => "network",
            Self::SetMaskLength(_) => "set_masklen",
            Self::Merge => "inet_merge",
            Self::SameFamily => "inet_same_family",
            Self::IsStrictlyWithin => "network_sub",
            Self::IsWithin => "network_subeq",
            Self::Overlaps => "network_overlap",
            Self::Not => "inet_not",
            Self::And => "inet_and",
            Self::Or => "inet_or",
            Self::Add => "inet_plus",
            Self::Subtract => "inet_minus",
            Self::Difference => "inet_difference",
        }
    }

    fn arguments(self) -> &'static [Argument] {
        use Argument as A;
        match self {
            Self::OfKey(_) => &[A::Key],
            Self::SetMaskLength(_) | Self::Add | Self::Subtract => &[A::Address, A::Integer],
            Self::Merge | Self::SameFamily | Self::IsStrictlyWithin | Self::IsWithin | Self::Overlaps => {
                &[A::Address, A::Address]
            }
            Self::And | Self::Or | Self::Difference => &[A::Address, A::Address],
            _ => &[A::Address],
        }
    }

    /// The type of the result, if it is an address. `first` is the type of the first argument.
    fn address_type(self, first: Option<AddressType>) -> Option<AddressType> {
        match self {
            Self::Read(of) | Self::Declare(of) | Self::OfKey(of) => Some(of),
            Self::SetMaskLength(of) => Some(first.unwrap_or(of)),
            Self::Network | Self::Merge => Some(AddressType::Cidr),
            Self::Broadcast | Self::HostMask | Self::NetMask => Some(AddressType::Inet),
            Self::Not | Self::And | Self::Or | Self::Add | Self::Subtract => Some(AddressType::Inet),
            _ => None,
        }
    }

    fn result(self) -> DataType {
        match self {
            Self::Key => DataType::Binary,
            Self::Family | Self::MaskLength => DataType::Int32,
            Self::Difference => DataType::Int64,
            Self::SameFamily | Self::IsStrictlyWithin | Self::IsWithin | Self::Overlaps => DataType::Boolean,
            _ => DataType::Utf8,
        }
    }

    /// The same call for a first argument of this type. The type becomes part of the function, because DataFusion may
    /// forget it.
    fn of_first(self, first: Option<AddressType>) -> Self {
        match (self, first) {
            (Self::Abbreviation(_), Some(of)) => Self::Abbreviation(of),
            (Self::SetMaskLength(_), Some(of)) => Self::SetMaskLength(of),
            // A cast of a value: its host bits are cleared, where those of a text are refused.
            (Self::Read(AddressType::Cidr), Some(AddressType::Inet)) => Self::Network,
            (call, _) => call,
        }
    }
}

/// A function of addresses.
pub(crate) fn address_function(call: AddressCall) -> ScalarUDF {
    let signature = Signature::any(call.arguments().len(), Volatility::Immutable);
    ScalarUDF::new_from_impl(AddressFunction { call, signature })
}

/// The function for an argument of this type; `None` if it is no function of addresses.
pub(crate) fn function_of_type(function: &ScalarUDF, first: Option<AddressType>) -> Option<ScalarUDF> {
    let of_addresses = function.inner().downcast_ref::<AddressFunction>()?;
    Some(address_function(of_addresses.call.of_first(first)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AddressFunction {
    call: AddressCall,
    signature: Signature,
}

impl ScalarUDFImpl for AddressFunction {
    fn name(&self) -> &'static str {
        self.call.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.call.result())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let first = args.arg_fields.first().and_then(|field| TextType::of(field)?.address());
        Ok(Arc::new(match self.call.address_type(first) {
            Some(of) => TextType::Address(of).field(self.name()),
            None => Field::new(self.name(), self.call.result(), true),
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let first = args.arg_fields.first().and_then(|field| TextType::of(field)?.address());
        let call = self.call.of_first(first);
        if let (AddressCall::Declare(_), [value]) = (call, args.args.as_slice()) {
            return value.cast_to(&DataType::Utf8, None);
        }
        let is_constant = are_constant(&args.args);
        let count = if is_constant { 1 } else { args.number_rows };
        let operands = Operands::of(call, &args.args, count)?;
        let found = computed(call, &operands)?;
        answer(is_constant, found)
    }
}

/// The arguments of a call. A list with one value has it for all rows.
#[derive(Default)]
struct Operands {
    addresses: Vec<Vec<Option<NetworkAddress>>>,
    integers: Vec<Option<i64>>,
    count: usize,
}

impl Operands {
    fn of(call: AddressCall, args: &[ColumnarValue], count: usize) -> Result<Self> {
        let mut operands = Self { count, ..Self::default() };
        for (arg, wanted) in args.iter().zip(call.arguments()) {
            // A constant is an array of one row here.
            let values = match arg {
                ColumnarValue::Array(array) => Arc::clone(array),
                ColumnarValue::Scalar(value) => value.to_array()?,
            };
            match wanted {
                Argument::Address => {
                    let of = if let AddressCall::Read(of) = call { of } else { AddressType::Inet };
                    operands.addresses.push(addresses_of(&values, of)?);
                }
                Argument::Key => {
                    let keys = cast(&values, &DataType::Binary)?;
                    let keys = keys.as_binary::<i32>().iter();
                    operands.addresses.push(keys.map(|key| key.and_then(NetworkAddress::of_key)).collect());
                }
                Argument::Integer => {
                    operands.integers =
                        strictly(&values, &DataType::Int64)?.as_primitive::<Int64Type>().iter().collect();
                }
            }
        }
        Ok(operands)
    }

    fn address(&self, at: usize, row: usize) -> Option<NetworkAddress> {
        value_in_row(self.addresses.get(at)?, row)
    }

    /// The result for the address of each row.
    fn map<T>(&self, compute: impl Fn(NetworkAddress) -> Result<T>) -> Result<Vec<Option<T>>> {
        (0..self.count).map(|row| self.address(0, row).map(&compute).transpose()).collect()
    }

    /// The result for the two addresses of each row.
    fn map_pairs<T>(&self, compute: impl Fn(NetworkAddress, NetworkAddress) -> Result<T>) -> Result<Vec<Option<T>>> {
        let pair = |row| self.address(0, row).zip(self.address(1, row));
        (0..self.count).map(|row| pair(row).map(|(left, right)| compute(left, right)).transpose()).collect()
    }

    /// The result for the address and the number of each row.
    fn map_with_integer<T>(&self, compute: impl Fn(NetworkAddress, i64) -> Result<T>) -> Result<Vec<Option<T>>> {
        let pair = |row| self.address(0, row).zip(value_in_row(&self.integers, row));
        (0..self.count).map(|row| pair(row).map(|(address, number)| compute(address, number)).transpose()).collect()
    }
}

/// Reads texts.
fn addresses_of(texts: &ArrayRef, of: AddressType) -> Result<Vec<Option<NetworkAddress>>> {
    values_of_texts(texts, |text| read(text, of))
}

/// The keys of texts that are addresses.
pub(super) fn keys_of(texts: &ArrayRef) -> Result<Vec<Option<Vec<u8>>>> {
    let addresses = addresses_of(texts, AddressType::Inet)?;
    Ok(addresses.into_iter().map(|address| address.map(NetworkAddress::key)).collect())
}

fn computed(call: AddressCall, operands: &Operands) -> Result<ArrayRef> {
    use AddressCall as C;
    use AddressType::{Cidr, Inet};
    let texts = |texts: Vec<Option<String>>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    let addresses = |found: Vec<Option<NetworkAddress>>, of: AddressType| {
        texts(found.into_iter().map(|address| address.map(|address| written(address, of))).collect())
    };
    let conditions = |found: Vec<Option<bool>>| -> ArrayRef { Arc::new(BooleanArray::from(found)) };
    Ok(match call {
        C::Read(of) | C::OfKey(of) => addresses(operands.map(Ok)?, of),
        C::Declare(_) => return internal_err!("{} is no computation", call.name()),
        C::Key => Arc::new(operands.map(|of| Ok(of.key()))?.into_iter().collect::<BinaryArray>()),
        C::Text => texts(operands.map(|of| Ok(with_mask(of)))?),
        C::Abbreviation(Inet) => addresses(operands.map(Ok)?, Inet),
        C::Abbreviation(Cidr) => texts(operands.map(|of| abbreviated(of).ok_or_else(|| no_abbreviation(of)))?),
        C::Broadcast => addresses(operands.map(|of| Ok(of.broadcast()))?, Inet),
        C::Family => Arc::new(Int32Array::from(operands.map(|of| Ok(i32::from(of.family.number())))?)),
        C::Host => texts(operands.map(|of| Ok(host(of)))?),
        C::HostMask => addresses(operands.map(|of| Ok(of.hostmask()))?, Inet),
        C::MaskLength => Arc::new(Int32Array::from(operands.map(|of| Ok(i32::from(of.mask_length)))?)),
        C::NetMask => addresses(operands.map(|of| Ok(of.netmask()))?, Inet),
        C::Network => addresses(operands.map(|of| Ok(of.network()))?, Cidr),
        C::SetMaskLength(Inet) => addresses(operands.map_with_integer(NetworkAddress::with_mask_length)?, Inet),
        C::SetMaskLength(Cidr) => {
            addresses(operands.map_with_integer(|of, length| Ok(of.with_mask_length(length)?.network()))?, Cidr)
        }
        C::Merge => addresses(operands.map_pairs(NetworkAddress::merged)?, Cidr),
        C::SameFamily => conditions(operands.map_pairs(|left, right| Ok(left.family == right.family))?),
        C::IsStrictlyWithin => conditions(operands.map_pairs(|left, right| Ok(left.is_strictly_within(right)))?),
        C::IsWithin => conditions(operands.map_pairs(|left, right| Ok(left.is_within(right)))?),
        C::Overlaps => conditions(operands.map_pairs(|left, right| Ok(left.overlaps(right)))?),
        C::Not => addresses(operands.map(|of| Ok(of.inverse()))?, Inet),
        C::And => addresses(operands.map_pairs(|left, right| left.combined(right, "AND", |a, b| a & b))?, Inet),
        C::Or => addresses(operands.map_pairs(|left, right| left.combined(right, "OR", |a, b| a | b))?, Inet),
        C::Add => addresses(operands.map_with_integer(|of, by| of.moved(by, false))?, Inet),
        C::Subtract => addresses(operands.map_with_integer(|of, by| of.moved(by, true))?, Inet),
        C::Difference => Arc::new(Int64Array::from(operands.map_pairs(NetworkAddress::minus)?)),
    })
}

fn no_abbreviation(address: NetworkAddress) -> DataFusionError {
    let network = with_mask(address);
    external(not_supported(format_args!("abbrev({network})")).with_hint("write CAST(x AS TEXT)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::ScalarValue;

    #[test]
    fn a_constant_stands_beside_each_row() {
        let rows: ArrayRef = Arc::new(StringArray::from(vec![Some("10.1.2.3"), None, Some("11.0.0.1")]));
        let args = [ColumnarValue::Array(rows), ColumnarValue::Scalar(ScalarValue::from("10/8"))];
        let operands = Operands::of(AddressCall::IsWithin, &args, 3).unwrap();
        assert_eq!(operands.addresses[1].len(), 1);
        let found = computed(AddressCall::IsWithin, &operands).unwrap();
        assert_eq!(found.as_boolean().iter().collect::<Vec<_>>(), [Some(true), None, Some(false)]);
    }
}
